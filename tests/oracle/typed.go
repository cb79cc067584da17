//go:build !kubernetes_1_36

package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/common/types/ref"
	admission "k8s.io/api/admission/v1"
	admissionregistration "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	certificates "k8s.io/api/certificates/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	flowcontrol "k8s.io/api/flowcontrol/v1"
	networking "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	resource "k8s.io/api/resource/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/cel/common"
)

var kinds = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistration.AddToScheme, apps.AddToScheme, autoscaling.AddToScheme, batch.AddToScheme,
		certificates.AddToScheme, coordination.AddToScheme, core.AddToScheme, discovery.AddToScheme,
		events.AddToScheme, flowcontrol.AddToScheme, networking.AddToScheme, node.AddToScheme,
		policy.AddToScheme, rbac.AddToScheme, resource.AddToScheme, scheduling.AddToScheme, storage.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}()

// decoded is a variable as the API server holds it: a value of its Go type.
func decoded(value any, kind string) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var made any = &admission.AdmissionRequest{}
	if kind != "AdmissionRequest" {
		cut := strings.LastIndex(kind, "/")
		home, err := schema.ParseGroupVersion(kind[:cut])
		if err != nil {
			return nil, err
		}
		if made, err = kinds.New(home.WithKind(kind[cut+1:])); err != nil {
			return nil, err
		}
	}
	return made, json.Unmarshal(text, made)
}

func typed(value any, kind string) (ref.Val, error) {
	made, err := decoded(value, kind)
	if err != nil {
		return nil, err
	}
	return common.SchemalessTypedToVal(made), nil
}

// canonical are the variables as a webhook gets them.
func canonical(asked question) (map[string]any, error) {
	printed := map[string]any{}
	for name, value := range asked.Variables {
		made, err := decoded(value, asked.Kinds[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if reflect.ValueOf(made).IsNil() {
			continue
		}
		printed[name] = made
	}
	return printed, nil
}
