package main

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/decls"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

// own is the Kubernetes version that the oracle was built of: k8s.io/apiserver v0.37.2 is that of 1.37.
func own() (*version.Version, error) {
	build, read := debug.ReadBuildInfo()
	if !read {
		return nil, errors.New("the oracle was built without its modules' versions")
	}
	for _, module := range build.Deps {
		if module.Path == "k8s.io/apiserver" {
			staging, err := version.ParseSemantic(module.Version)
			if err != nil {
				return nil, err
			}
			return version.MajorMinor(1, staging.Minor()), nil
		}
	}
	return nil, errors.New("the oracle was built without k8s.io/apiserver")
}

// baseFor gives the environments of a version, and whether the one for stored expressions is meant: it
// has all that the oracle's own version has, whatever version it should be compatible with.
func baseFor(named string) (*environment.EnvSet, bool, error) {
	newest, err := own()
	if err != nil {
		return nil, false, err
	}
	wanted := newest
	if named != "" {
		if wanted, err = version.ParseMajorMinor(named); err != nil {
			return nil, false, err
		}
	}
	if wanted.GreaterThan(newest) {
		return nil, false, fmt.Errorf("this is the oracle of %s, not of %s", newest, wanted)
	}
	return environment.MustBaseEnvSet(wanted), wanted.EqualTo(newest), nil
}

// declarations are everything that an environment declares: overloads sorted by function, in the order in which a function tries
// them, macros and variables.
type declarations struct {
	Overloads []overload `json:"overloads"`
	Macros    []macro    `json:"macros"`
	Variables []variable `json:"variables"`
}

type overload struct {
	Function  string `json:"function"`
	ID        string `json:"id"`
	Signature string `json:"signature"`
}

type macro struct {
	Name      string `json:"name"`
	Arguments int    `json:"arguments"`
	Member    bool   `json:"member"`
}

type variable struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func declarationsOf(env *cel.Env) declarations {
	found := declarations{}
	functions := env.Functions()
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		for _, each := range functions[name].OverloadDecls() {
			found.Overloads = append(found.Overloads, overload{name, each.ID(), signature(name, each)})
		}
	}
	for _, each := range env.Macros() {
		found.Macros = append(found.Macros, macro{each.Function(), each.ArgCount(), each.IsReceiverStyle()})
	}
	for _, each := range env.Variables() {
		found.Variables = append(found.Variables, variable{each.Name(), checker.FormatCELType(each.Type())})
	}
	return found
}

func signature(name string, each *decls.OverloadDecl) string {
	types := []string{}
	for _, argument := range each.ArgTypes() {
		types = append(types, checker.FormatCELType(argument))
	}
	receiver := ""
	if each.IsMemberFunction() {
		receiver, types = types[0]+".", types[1:]
	}
	return fmt.Sprintf("%s%s(%s) -> %s", receiver, name, strings.Join(types, ", "), checker.FormatCELType(each.ResultType()))
}
