//go:build kubernetes_1_36

package main

import (
	"errors"

	"github.com/google/cel-go/common/types/ref"
)

var errJSON = errors.New("the variables of 1.36 are JSON")

func typed(any, string) (ref.Val, error) {
	return nil, errJSON
}

func canonical(question) (map[string]any, error) {
	return nil, errJSON
}
