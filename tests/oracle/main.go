// Oracle answers what Kubernetes' own CEL says: one JSON line in, one JSON line out.
//
//	{"expression": "1 + object.a", "variables": {"object": {"a": 2}}}  ->  {"value":3,"type":"int","cost":3}
//	{"expression": "object.x", "variables": {"object": {}}}           ->  {"error":"no such key: x","stage":"run","cost":2}
//	{"expression": "1 +"}                                             ->  {"error":"ERROR: <input>:1:4: ...","stage":"compile"}
//
// See README.md for the fields, for building it and for what it does not cover.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"
)

// checkFrequency is the API server's celconfig.CheckFrequency.
const checkFrequency = 100

type question struct {
	Expression string         `json:"expression"`
	Variables  map[string]any `json:"variables"`
	// Mode is "" (every variable dyn), "vap" (request and namespaceObject typed) or "map" (vap and the patch types).
	Mode string `json:"mode"`
	// Version is a Kubernetes version, "1.33": what new expressions may use there. Without it, or with
	// the oracle's own: all that stored expressions may use.
	Version string `json:"version"`
	// Kinds are those of the variables that are Go's values, by name: "apps/v1/Deployment", "v1/Pod".
	Kinds map[string]string `json:"kinds"`
	// Canonical asks how Go prints each variable; there is no expression then.
	Canonical bool `json:"canonical"`
	// List asks what the environment declares; there is no expression then.
	List bool `json:"list"`
}

type answer struct {
	Value any     `json:"value,omitempty"`
	Type  string  `json:"type,omitempty"`
	Cost  *uint64 `json:"cost,omitempty"`
	Error string  `json:"error,omitempty"`
	Stage string  `json:"stage,omitempty"`
}

// null is a value that omitempty keeps.
var null = json.RawMessage("null")

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	environments := map[string]*cel.Env{}
	for lines.Scan() {
		if err := encoder.Encode(ask(environments, lines.Bytes())); err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			os.Exit(1)
		}
		out.Flush() // a caller may hold a conversation
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func ask(environments map[string]*cel.Env, line []byte) (result any) {
	defer func() {
		if panicked := recover(); panicked != nil {
			result = answer{Error: fmt.Sprint(panicked), Stage: "panic"}
		}
	}()
	var asked question
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&asked); err != nil {
		return answer{Error: err.Error(), Stage: "question"}
	}
	env, err := environmentFor(environments, asked)
	if err != nil {
		return answer{Error: err.Error(), Stage: "environment"}
	}
	if asked.List {
		return declarationsOf(env)
	}
	if asked.Canonical {
		printed, err := canonical(asked)
		if err != nil {
			return answer{Error: err.Error(), Stage: "question"}
		}
		return answer{Value: printed}
	}
	return evaluate(env, asked)
}

func evaluate(env *cel.Env, asked question) answer {
	ast, issues := env.Compile(asked.Expression)
	if issues.Err() != nil {
		return answer{Error: issues.String(), Stage: "compile"}
	}
	program, err := env.Program(ast, cel.InterruptCheckFrequency(checkFrequency))
	if err != nil {
		return answer{Error: err.Error(), Stage: "program"}
	}
	activation := map[string]any{}
	for name, value := range asked.Variables {
		if kind := asked.Kinds[name]; kind != "" && value != nil {
			if activation[name], err = typed(value, kind); err != nil {
				return answer{Error: err.Error(), Stage: "question"}
			}
			continue
		}
		activation[name] = fromJSON(value)
	}
	value, details, err := program.Eval(activation)
	var cost *uint64
	if details != nil {
		cost = details.ActualCost()
	}
	if err != nil {
		return answer{Error: err.Error(), Stage: "run", Cost: cost}
	}
	return answer{Value: toJSON(value), Type: value.Type().TypeName(), Cost: cost}
}

// environmentFor returns the environment of a question's version with its variables declared; it is kept for the next one.
func environmentFor(environments map[string]*cel.Env, asked question) (*cel.Env, error) {
	names := []string{"object", "oldObject", "request", "namespaceObject", "params", "variables", "authorizer"}
	for name := range asked.Variables {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[7:])
	key := asked.Version + " " + asked.Mode + " " + strings.Join(names, " ")
	if env, found := environments[key]; found {
		return env, nil
	}
	options := environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0)}
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	for _, name := range names {
		declared := cel.DynType
		switch {
		case name == "authorizer":
			declared = library.AuthorizerType
		case asked.Mode != "" && name == "request":
			declared = request.CelType()
		case asked.Mode != "" && name == "namespaceObject":
			declared = namespace.CelType()
		}
		options.EnvOptions = append(options.EnvOptions, cel.Variable(name, declared))
	}
	options.EnvOptions = append(options.EnvOptions, cel.Variable("authorizer.requestResource", library.ResourceCheckType))
	if asked.Mode != "" {
		options.DeclTypes = []*apiservercel.DeclType{namespace, request}
	}
	base, stored, err := baseFor(asked.Version)
	if err != nil {
		return nil, err
	}
	set, err := base.Extend(options, environment.StrictCostOpt)
	if err != nil {
		return nil, err
	}
	if asked.Mode == "map" {
		set, err = set.Extend(environment.VersionedOptions{
			IntroducedVersion: version.MajorMinor(1, 0),
			EnvOptions: []cel.EnvOption{
				common.ResolverEnvOption(&mutation.DynamicTypeResolver{}),
				environment.UnversionedLib(library.JSONPatch),
			},
		})
		if err != nil {
			return nil, err
		}
	}
	if stored {
		environments[key] = set.StoredExpressionsEnv()
	} else {
		environments[key] = set.NewExpressionsEnv()
	}
	return environments[key], nil
}

// fromJSON gives integers within int64 as int64 and other numbers as float64, as the API server's decoder does.
func fromJSON(value any) any {
	switch value := value.(type) {
	case json.Number:
		if integer, err := strconv.ParseInt(value.String(), 10, 64); err == nil {
			return integer
		}
		number, _ := value.Float64()
		return number
	case []any:
		for i := range value {
			value[i] = fromJSON(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = fromJSON(value[key])
		}
	}
	return value
}

// toJSON renders a result; what JSON lacks becomes the text that CEL's string() gives, map keys become text.
func toJSON(value ref.Val) any {
	switch value := value.(type) {
	case types.Null:
		return null
	case types.Bool:
		return bool(value)
	case types.Int:
		return int64(value)
	case types.Uint:
		return uint64(value)
	case types.Double:
		return double(float64(value))
	case types.String:
		return string(value)
	case types.Bytes:
		if utf8.Valid(value) {
			return string(value)
		}
		return []byte(value) // base64
	case *mutation.JSONPatchVal:
		operation := map[string]any{"op": value.Op, "path": value.Path, "from": value.From}
		if value.Val != nil {
			operation["value"] = toJSON(value.Val)
		}
		return operation
	case *dynamic.ObjectVal:
		return value.Value()
	case apiservercel.Format:
		return value.Name // its value holds addresses of functions
	case *types.Optional:
		if !value.HasValue() {
			return "optional.none()"
		}
		return map[string]any{"optional": toJSON(value.GetValue())}
	case traits.Lister:
		list := []any{}
		for it := value.Iterator(); it.HasNext() == types.True; {
			list = append(list, toJSON(it.Next()))
		}
		return list
	case traits.Mapper:
		fields := map[string]any{}
		for it := value.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			fields[keyText(key)] = toJSON(value.Get(key))
		}
		return fields
	}
	if text := value.ConvertToType(types.StringType); text.Type() == types.StringType {
		return string(text.(types.String))
	}
	return fmt.Sprint(value.Value())
}

// keyText is the text of a map's key: as string() gives it, or its type.
func keyText(key ref.Val) string {
	if text := key.ConvertToType(types.StringType); text.Type() == types.StringType {
		return string(text.(types.String))
	}
	return key.Type().TypeName()
}

func double(number float64) any {
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return fmt.Sprint(number)
	}
	// A whole double must not look like an integer.
	text := strconv.FormatFloat(number, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.RawMessage(text)
}
