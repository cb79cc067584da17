package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
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

// declarations are everything that an environment declares: functions by name and overload, macros, variables.
type declarations struct {
	Functions map[string]map[string]overload `json:"functions"`
	Macros    []string                       `json:"macros"`
	Variables map[string]string              `json:"variables"`
	// Types are those that overloads and variables name, without parameters.
	Types []string `json:"types"`
}

type overload struct {
	Member    bool     `json:"member"`
	Arguments []string `json:"arguments"`
	Result    string   `json:"result"`
}

func declarationsOf(env *cel.Env) declarations {
	found := declarations{Functions: map[string]map[string]overload{}, Macros: []string{}, Variables: map[string]string{}}
	named := map[string]bool{}
	for name, function := range env.Functions() {
		overloads := map[string]overload{}
		for _, each := range function.OverloadDecls() {
			overloads[each.ID()] = described(each, named)
		}
		found.Functions[name] = overloads
	}
	for _, macro := range env.Macros() {
		found.Macros = append(found.Macros, macro.MacroKey()) // name:arguments:whether a member
	}
	for _, variable := range env.Variables() {
		found.Variables[variable.Name()] = noted(variable.Type(), named)
	}
	for name := range named {
		found.Types = append(found.Types, name)
	}
	slices.Sort(found.Macros)
	slices.Sort(found.Types)
	return found
}

func described(each *decls.OverloadDecl, named map[string]bool) overload {
	made := overload{Member: each.IsMemberFunction(), Arguments: []string{}, Result: noted(each.ResultType(), named)}
	for _, argument := range each.ArgTypes() {
		made.Arguments = append(made.Arguments, noted(argument, named))
	}
	return made
}

// noted is the text of a type; the names in it are added to those that were seen.
func noted(t *cel.Type, named map[string]bool) string {
	if t.Kind() != cel.TypeParamKind {
		named[strings.TrimSuffix(strings.TrimPrefix(t.DeclaredTypeName(), "wrapper("), ")")] = true
	}
	for _, parameter := range t.Parameters() {
		noted(parameter, named)
	}
	return t.String()
}
