// Command gotypes prints how the Go structs of the Kubernetes API are encoded as JSON, one line for
// each struct: what OpenAPI leaves out (Go's type names, omitempty, pointers) but error messages and
// the round trip of a mutated object show.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// Field is one JSON field: its Go type as reflect prints it, whether zero values are left out, the
// underlying kind of scalars, for structs (of values, elements or keys) which one, and through which
// embedded structs ("VolumeSource.") it comes.
type Field struct {
	Type      string `json:"type"`
	OmitEmpty bool   `json:"omitempty,omitempty"`
	OmitZero  bool   `json:"omitzero,omitempty"`
	Kind      string `json:"kind"`
	Element   *Field `json:"element,omitempty"`
	Struct    string `json:"struct,omitempty"`
	Via       string `json:"via,omitempty"`
}

// groups add the types of API groups to a scheme; each other file of this package appends one whose
// module some versions of Kubernetes lack.
var groups = []func(*runtime.Scheme) error{scheme.AddToScheme}

type visitor map[string]map[string]Field

func main() {
	all := runtime.NewScheme()
	for _, add := range groups {
		if err := add(all); err != nil {
			panic(err)
		}
	}
	structs := visitor{}
	for _, t := range all.AllKnownTypes() {
		structs.visit(t)
	}
	names := make([]string, 0, len(structs))
	for name := range structs {
		names = append(names, name)
	}
	sort.Strings(names)
	out := json.NewEncoder(os.Stdout)
	for _, name := range names {
		if err := out.Encode(map[string]any{"name": name, "fields": structs[name]}); err != nil {
			panic(err)
		}
	}
}

func name(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

func (v visitor) visit(t reflect.Type) {
	if t.Kind() != reflect.Struct || t.PkgPath() == "" || custom(t) {
		return
	}
	if _, seen := v[name(t)]; seen {
		return
	}
	fields := map[string]Field{}
	v[name(t)] = fields
	v.collect(t, fields, "")
}

// collect takes the fields of embedded structs as encoding/json does: as if they stood here.
func (v visitor) collect(t reflect.Type, fields map[string]Field, via string) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if f.Anonymous && tag == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			v.collect(inner, fields, via+f.Name+".")
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		described := v.describe(f.Type)
		described.Via = via
		described.OmitEmpty = has(options, "omitempty")
		described.OmitZero = has(options, "omitzero")
		fields[tag] = described
	}
}

func has(options, option string) bool {
	for _, each := range strings.Split(options, ",") {
		if each == option {
			return true
		}
	}
	return false
}

func (v visitor) describe(t reflect.Type) Field {
	field := Field{Type: t.String(), Kind: t.Kind().String()}
	switch {
	case custom(t):
		field.Kind = "custom"
	case t.Kind() == reflect.Pointer:
		inner := v.describe(t.Elem())
		field.Element = &inner
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		field.Kind = "bytes"
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		inner := v.describe(t.Elem())
		field.Element = &inner
	case t.Kind() == reflect.Struct:
		field.Struct = name(t)
		v.visit(t)
	}
	return field
}

// custom types decode themselves: Time, Quantity, IntOrString, RawExtension and their like.
func custom(t reflect.Type) bool {
	unmarshaler := reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()
	return t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(unmarshaler)
}
