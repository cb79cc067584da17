// Kyverno's handler of ValidatingPolicies, from the body of a request to that of its response. The handlers around it
// (filters, roles, metrics) are left out, and nothing receives its Events.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/go-logr/logr"
	policies "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	"github.com/kyverno/kyverno/pkg/cel/libs"
	"github.com/kyverno/kyverno/pkg/cel/matching"
	"github.com/kyverno/kyverno/pkg/cel/policies/vpol/compiler"
	"github.com/kyverno/kyverno/pkg/cel/policies/vpol/engine"
	"github.com/kyverno/kyverno/pkg/event"
	"github.com/kyverno/kyverno/pkg/webhooks/handlers"
	"github.com/kyverno/kyverno/pkg/webhooks/resource/vpol"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type noEvents struct{}

func (noEvents) Add(...event.Info) {}

func load(documents [][]byte) evaluator {
	var loaded []policies.ValidatingPolicyLike
	for _, document := range documents {
		policy := &policies.ValidatingPolicy{}
		check(json.Unmarshal(document, policy))
		loaded = append(loaded, policy)
	}
	provider, err := engine.NewProvider(compiler.NewCompiler(), loaded, nil)
	check(err)
	namespaces := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	evaluated := engine.NewEngine(provider, namespaces, matching.NewMatcher())
	handler := vpol.New(evaluated, libs.NewFakeContextProvider(), nil, false, noEvents{})
	validate := func(ctx context.Context, logger logr.Logger, request handlers.AdmissionRequest, start time.Time) handlers.AdmissionResponse {
		return handler.ValidateClustered(ctx, logger, request, "", start)
	}
	serve := handlers.FromAdmissionFunc("VALIDATE", validate).WithAdmission(logr.Discard()).ToHandlerFunc("VPOL")
	return func(body []byte) []byte {
		request := httptest.NewRequest(http.MethodPost, "/vpol", bytes.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		response := httptest.NewRecorder()
		serve(response, request)
		return response.Body.Bytes()
	}
}
