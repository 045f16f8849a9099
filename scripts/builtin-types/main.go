// Type tables of the built-in kinds, printed from the Go sources that define them: published schema name to schema,
// one line per type. Prose stays behind; what a protobuf decoder and a faithful JSON printer must know
// beyond a schema (field numbers, and when Go's encoder leaves a field out) is added from the struct tags.
//
//	go run . types     the tables
//	go run . samples   objects as protobuf and as JSON, for tests of the decoder
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	generated "k8s.io/kubernetes/pkg/generated/openapi"
)

const refPrefix = "#/components/schemas/"

// kinds are the roots: everything they reach is printed with them, and so is each kind's list.
var kinds = map[string][]string{
	"v1": {"Namespace", "Pod", "Node", "Event", "Secret", "ConfigMap", "ServiceAccount", "Service", "Endpoints", "PodTemplate",
		"ReplicationController", "PersistentVolume", "PersistentVolumeClaim", "LimitRange", "ResourceQuota", "Binding"},
	"events.k8s.io/v1":                {"Event"},
	"apps/v1":                         {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ControllerRevision"},
	"batch/v1":                        {"Job", "CronJob"},
	"coordination.k8s.io/v1":          {"Lease"},
	"rbac.authorization.k8s.io/v1":    {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"},
	"admissionregistration.k8s.io/v1": {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"},
	"apiextensions.k8s.io/v1":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io/v1":       {"APIService"},
	"policy/v1":                       {"PodDisruptionBudget", "Eviction"},
	"scheduling.k8s.io/v1":            {"PriorityClass"},
	"storage.k8s.io/v1":               {"StorageClass", "CSIDriver", "CSINode", "CSIStorageCapacity", "VolumeAttachment", "VolumeAttributesClass"},
	"discovery.k8s.io/v1":             {"EndpointSlice"},
	"networking.k8s.io/v1":            {"NetworkPolicy", "Ingress", "IngressClass"},
	"autoscaling/v1":                  {"Scale", "HorizontalPodAutoscaler"},
	"autoscaling/v2":                  {"HorizontalPodAutoscaler"},
	"authentication.k8s.io/v1":        {"TokenReview", "TokenRequest", "SelfSubjectReview"},
	"authorization.k8s.io/v1":         {"SubjectAccessReview", "SelfSubjectAccessReview", "LocalSubjectAccessReview", "SelfSubjectRulesReview"},
	"certificates.k8s.io/v1":          {"CertificateSigningRequest"},
	"node.k8s.io/v1":                  {"RuntimeClass"},
}

var metaTypes = []any{
	metav1.DeleteOptions{}, metav1.Status{}, metav1.APIGroup{}, metav1.APIGroupList{}, metav1.APIResourceList{}, metav1.APIVersions{},
	metav1.WatchEvent{}, metav1.PartialObjectMetadata{}, metav1.PartialObjectMetadataList{}, metav1.Patch{},
}

// anyValue marks types that hold whatever JSON a user wrote; a table that left this out would prune it.
var anyValue = map[string]bool{
	"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1":                                         true,
	"io.k8s.apimachinery.pkg.runtime.RawExtension":                                          true,
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON":                         true,
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray":       true,
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool":        true,
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": true,
}

const intOrString = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"

type named interface{ OpenAPIModelName() string }
type marshaler interface{ Marshal() ([]byte, error) }

func main() {
	scheme := runtime.NewScheme()
	must(clientscheme.AddToScheme(scheme))
	must(apiextensionsv1.AddToScheme(scheme))
	must(apiregistrationv1.AddToScheme(scheme))
	for _, extra := range []func(*runtime.Scheme) error{admissionv1.AddToScheme, admissionv1beta1.AddToScheme, imagepolicyv1alpha1.AddToScheme} {
		must(extra(scheme))
	}
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: builtin-types types|samples")
		os.Exit(2)
	}
	switch os.Args[1] {
	case "types":
		printTypes(scheme)
	case "samples":
		printSamples(scheme)
	}
}

func roots(scheme *runtime.Scheme) []reflect.Type {
	var types []reflect.Type
	for groupVersion, names := range kinds {
		gv, err := schema.ParseGroupVersion(groupVersion)
		must(err)
		for _, name := range names {
			types = append(types, typeOf(scheme, gv.WithKind(name)))
			if scheme.Recognizes(gv.WithKind(name + "List")) {
				types = append(types, typeOf(scheme, gv.WithKind(name+"List")))
			}
		}
	}
	for _, value := range metaTypes {
		types = append(types, reflect.TypeOf(value))
	}
	return types
}

func typeOf(scheme *runtime.Scheme, gvk schema.GroupVersionKind) reflect.Type {
	object, err := scheme.New(gvk)
	must(err)
	return reflect.TypeOf(object).Elem()
}

func printTypes(scheme *runtime.Scheme) {
	definitions := generated.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef(refPrefix + path) })
	tables := map[string]map[string]any{}
	for _, root := range roots(scheme) {
		collect(root, definitions, tables)
	}
	for gvk, goType := range scheme.AllKnownTypes() {
		table, ok := tables[nameOf(goType)]
		if !ok || gvk.Version == runtime.APIVersionInternal {
			continue
		}
		known, _ := table["x-kubernetes-group-version-kind"].([]any)
		table["x-kubernetes-group-version-kind"] = append(known, map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind})
	}
	names := make([]string, 0, len(tables))
	for name, table := range tables {
		names = append(names, name)
		if known, ok := table["x-kubernetes-group-version-kind"].([]any); ok {
			sort.Slice(known, func(i, j int) bool { return text(known[i]) < text(known[j]) })
		}
	}
	sort.Strings(names)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprintln(out, "{")
	for i, name := range names {
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Fprintf(out, "%q:%s%s\n", name, text(tables[name]), comma)
	}
	fmt.Fprintln(out, "}")
}

// collect adds the table of a type and of everything it reaches.
func collect(goType reflect.Type, definitions map[string]common.OpenAPIDefinition, tables map[string]map[string]any) {
	for goType.Kind() == reflect.Pointer || (nameOf(goType) == "" && (goType.Kind() == reflect.Slice || goType.Kind() == reflect.Map)) {
		goType = goType.Elem()
	}
	name := nameOf(goType)
	if name == "" || tables[name] != nil {
		return
	}
	definition, ok := definitions[name]
	if !ok {
		return
	}
	table := plain(definition.Schema)
	tables[name] = table
	if name == intOrString {
		table["x-kubernetes-int-or-string"] = true
	}
	if anyValue[name] {
		table["x-kubernetes-preserve-unknown-fields"] = true
	}
	properties, _ := table["properties"].(map[string]any)
	if goType.Kind() == reflect.Struct {
		if properties != nil {
			describeFields(goType, properties, table)
		}
		for i := 0; i < goType.NumField(); i++ {
			if goType.Field(i).IsExported() {
				collect(goType.Field(i).Type, definitions, tables)
			}
		}
	}
	for key, property := range properties {
		properties[key] = published(property.(map[string]any))
	}
}

// describeFields writes what the struct tags know into the schemas of the fields.
func describeFields(goType reflect.Type, properties map[string]any, table map[string]any) {
	for i := 0; i < goType.NumField(); i++ {
		field := goType.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		number := protoNumber(field)
		if name == "" && strings.Contains(options, "inline") || name == "" && field.Anonymous {
			inner := field.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if number == 0 {
				// apiVersion and kind travel in the envelope; the numbers inside TypeMeta are not used.
				describePresence(inner, properties)
				continue
			}
			// One JSON object, two protobuf messages: the inner one has a number of its own.
			holder, _ := table["x-proto-inline"].(map[string]any)
			if holder == nil {
				holder = map[string]any{}
				table["x-proto-inline"] = holder
			}
			holder[strconv.Itoa(number)] = nameOf(inner)
			describePresence(inner, properties)
			continue
		}
		property, ok := properties[name].(map[string]any)
		if !ok {
			continue
		}
		if number != 0 {
			property["x-proto"] = number
		}
		if presence := presenceOf(field, options); presence != "" {
			property["x-presence"] = presence
		}
		if boxed(field.Type) {
			property["x-proto-boxed"] = true
		}
		if field.Type.Kind() == reflect.Map && boxed(field.Type.Elem()) {
			property["additionalProperties"].(map[string]any)["x-proto-boxed"] = true
		}
	}
}

func describePresence(goType reflect.Type, properties map[string]any) {
	for i := 0; i < goType.NumField(); i++ {
		field := goType.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Anonymous {
			describePresence(field.Type, properties)
			continue
		}
		property, ok := properties[name].(map[string]any)
		if presence := presenceOf(field, options); ok && presence != "" {
			property["x-presence"] = presence
		}
	}
}

// boxed is a list with a name of its own: protobuf has no such thing, so it travels as a message around the list.
func boxed(goType reflect.Type) bool {
	return goType.Kind() == reflect.Slice && reflect.PointerTo(goType).Implements(reflect.TypeFor[marshaler]()) && goType.Elem().Kind() == reflect.String
}

// presenceOf says when Go's encoder writes the field. Nothing said: a message when it is there, anything else unless zero.
//
//	always    even when it was not set, as its zero value
//	null      even when it was not set, as null
//	set       whenever it was set, zero or not
//	nonzero   a message, unless all of it is zero
func presenceOf(field reflect.StructField, options string) string {
	omitEmpty, omitZero := strings.Contains(options, "omitempty"), strings.Contains(options, "omitzero")
	switch field.Type.Kind() {
	case reflect.Pointer:
		if !omitEmpty {
			return "null"
		}
		if field.Type.Elem().Kind() != reflect.Struct {
			return "set"
		}
		return ""
	case reflect.Struct:
		if omitZero {
			return "nonzero"
		}
		return "always"
	default:
		if omitEmpty || omitZero {
			return ""
		}
		return "always"
	}
}

func protoNumber(field reflect.StructField) int {
	parts := strings.Split(field.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return 0
	}
	number, err := strconv.Atoi(parts[1])
	must(err)
	return number
}

// plain is a schema as data, without prose.
func plain(source spec.Schema) map[string]any {
	encoded, err := json.Marshal(source)
	must(err)
	var table map[string]any
	must(json.Unmarshal(encoded, &table))
	return stripped(table)
}

func stripped(table map[string]any) map[string]any {
	for _, key := range []string{"description", "x-kubernetes-v2-schema"} {
		delete(table, key)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := table[key].(map[string]any); ok {
			table[key] = stripped(inner)
		}
	}
	if properties, ok := table["properties"].(map[string]any); ok {
		for key, property := range properties {
			properties[key] = stripped(property.(map[string]any))
		}
	}
	return table
}

// published moves a reference that has neighbours into allOf, where OpenAPI v3 wants it. Our own hints do not count:
// they are taken out before anything is published.
func published(table map[string]any) map[string]any {
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := table[key].(map[string]any); ok {
			table[key] = published(inner)
		}
	}
	ref, ok := table["$ref"]
	if !ok {
		return table
	}
	for key := range table {
		if key != "$ref" && !strings.HasPrefix(key, "x-proto") && key != "x-presence" {
			delete(table, "$ref")
			table["allOf"] = []any{map[string]any{"$ref": ref}}
			break
		}
	}
	return table
}

func nameOf(goType reflect.Type) string {
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	if model, ok := reflect.Zero(goType).Interface().(named); ok {
		return model.OpenAPIModelName()
	}
	return ""
}

func text(value any) string {
	encoded, err := json.Marshal(value)
	must(err)
	return string(encoded)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
