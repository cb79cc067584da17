// Gatekeeper's review by its CEL engine, from the body of a request to that of its response. Its webhook also decodes the
// object for ExpansionTemplates, excludes namespaces and counts; that is left out.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/go-logr/logr"
	templates "github.com/open-policy-agent/frameworks/constraint/pkg/apis/templates/v1"
	constraints "github.com/open-policy-agent/frameworks/constraint/pkg/client"
	"github.com/open-policy-agent/frameworks/constraint/pkg/client/reviews"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/drivers/k8scel"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/gator/reader"
	mutations "github.com/open-policy-agent/gatekeeper/v3/pkg/mutation/types"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/target"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/util"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func load(documents [][]byte) evaluator {
	log.SetLogger(logr.Discard())
	driver, err := k8scel.New()
	check(err)
	client, err := constraints.NewClient(
		constraints.Targets(&target.K8sValidationTarget{}),
		constraints.Driver(driver),
		constraints.EnforcementPoints(util.WebhookEnforcementPoint),
	)
	check(err)
	scheme := runtime.NewScheme()
	check(templates.AddToScheme(scheme))
	for _, document := range documents {
		loaded := &unstructured.Unstructured{}
		check(json.Unmarshal(document, &loaded.Object))
		if loaded.GetKind() == "ConstraintTemplate" {
			template, err := reader.ToTemplate(scheme, loaded)
			check(err)
			_, err = client.AddTemplate(context.Background(), template)
			check(err)
		} else {
			_, err := client.AddConstraint(context.Background(), loaded)
			check(err)
		}
	}
	webhook := &admission.Webhook{Handler: admission.HandlerFunc(func(ctx context.Context, request admission.Request) admission.Response {
		review := &target.AugmentedReview{
			AdmissionRequest: &request.AdmissionRequest,
			Namespace:        &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: request.Namespace}},
			Source:           mutations.SourceTypeOriginal,
			IsAdmission:      true,
		}
		found, err := client.Review(ctx, review, reviews.EnforcementPoint(util.WebhookEnforcementPoint))
		check(err)
		var messages []string
		for _, result := range found.Results() {
			messages = append(messages, "["+result.Constraint.GetName()+"] "+result.Msg)
		}
		if len(messages) > 0 {
			return admission.Denied(strings.Join(messages, "\n"))
		}
		return admission.Allowed("")
	})}
	return func(body []byte) []byte {
		request := httptest.NewRequest(http.MethodPost, "/v1/admit", bytes.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		response := httptest.NewRecorder()
		webhook.ServeHTTP(response, request)
		return response.Body.Bytes()
	}
}
