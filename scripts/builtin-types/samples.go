package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"math/rand"
	"reflect"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// samples name the kinds to print and how full: the chance, in percent, that an optional field is set.
var samples = []struct {
	groupVersion, kind string
	percent            int
}{
	{"v1", "Pod", 0}, {"v1", "Pod", 12}, {"v1", "Pod", 75}, {"v1", "Node", 40}, {"v1", "Event", 60}, {"v1", "Secret", 80}, {"v1", "ConfigMap", 90},
	{"v1", "Service", 70}, {"v1", "PersistentVolume", 90}, {"v1", "Namespace", 0}, {"v1", "Namespace", 100}, {"v1", "NamespaceList", 60}, {"v1", "ResourceQuota", 80},
	{"events.k8s.io/v1", "Event", 90}, {"apps/v1", "Deployment", 40}, {"apps/v1", "ControllerRevision", 90}, {"batch/v1", "CronJob", 30},
	{"coordination.k8s.io/v1", "Lease", 0}, {"coordination.k8s.io/v1", "Lease", 100}, {"rbac.authorization.k8s.io/v1", "Role", 0}, {"rbac.authorization.k8s.io/v1", "ClusterRole", 90},
	{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", 80}, {"apiextensions.k8s.io/v1", "CustomResourceDefinition", 55},
	{"apiregistration.k8s.io/v1", "APIService", 90}, {"policy/v1", "PodDisruptionBudget", 90}, {"networking.k8s.io/v1", "Ingress", 60},
	{"autoscaling/v2", "HorizontalPodAutoscaler", 50}, {"authentication.k8s.io/v1", "TokenReview", 100}, {"authorization.k8s.io/v1", "SubjectAccessReview", 100},
	{"certificates.k8s.io/v1", "CertificateSigningRequest", 100}, {"v1", "DeleteOptions", 100}, {"apps/v1", "DeleteOptions", 0}, {"v1", "Status", 90}, {"policy/v1", "Eviction", 100},
}

func printSamples(scheme *runtime.Scheme) {
	serializer := protobuf.NewSerializer(scheme, scheme)
	var lines []string
	for _, sample := range samples {
		gv, err := schema.ParseGroupVersion(sample.groupVersion)
		must(err)
		gvk := gv.WithKind(sample.kind)
		object, err := scheme.New(gvk)
		must(err)
		seed := fnv.New64()
		fmt.Fprintf(seed, "%s %d", gvk, sample.percent)
		filler := filler{random: rand.New(rand.NewSource(int64(seed.Sum64()))), percent: sample.percent}
		filler.fill(reflect.ValueOf(object).Elem(), 0)
		object.GetObjectKind().SetGroupVersionKind(gvk)
		var wire bytes.Buffer
		must(serializer.Encode(object, &wire))
		decoded, _, err := serializer.Decode(wire.Bytes(), nil, nil)
		must(err)
		decoded.GetObjectKind().SetGroupVersionKind(gvk)
		lines = append(lines, fmt.Sprintf(`{"name":"%s %s, %d%% filled","protobuf":"%s","json":%s}`,
			sample.groupVersion, sample.kind, sample.percent, base64.StdEncoding.EncodeToString(wire.Bytes()), text(decoded)))
	}
	fmt.Println(strings.Join(lines, "\n"))
}

type filler struct {
	random  *rand.Rand
	percent int
}

func (f *filler) fill(value reflect.Value, depth int) {
	switch special := value.Addr().Interface().(type) {
	case *metav1.TypeMeta:
		return
	case *metav1.Time:
		*special = metav1.Unix(f.random.Int63n(4e9), 0)
		return
	case *metav1.MicroTime:
		*special = metav1.NewMicroTime(time.Unix(f.random.Int63n(4e9), f.random.Int63n(1e6)*1000))
		return
	case *resource.Quantity:
		*special = resource.MustParse([]string{"100m", "1Gi", "3", "1500Mi", "0", "-2k"}[f.random.Intn(6)])
		return
	case *intstr.IntOrString:
		*special = []intstr.IntOrString{intstr.FromInt32(8080), intstr.FromString("25%"), intstr.FromInt32(0), intstr.FromInt32(-1)}[f.random.Intn(4)]
		return
	case *runtime.RawExtension:
		special.Raw = []byte(`{"kind":"Any","deep":[1,{"large":9007199254740993}]}`)
		return
	case *metav1.FieldsV1:
		special.Raw = []byte(`{"f:metadata":{"f:labels":{".":{}}}}`)
		return
	case *apiextensionsv1.JSON:
		special.Raw = []byte([]string{`{"a":[true,null]}`, `"text"`, `1.5`, `[]`}[f.random.Intn(4)])
		return
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		special.Allows = f.random.Intn(2) == 0
		if special.Allows && depth < 8 {
			special.Schema = &apiextensionsv1.JSONSchemaProps{}
			f.fill(reflect.ValueOf(special.Schema).Elem(), depth+1)
		}
		return
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		special.Schema = &apiextensionsv1.JSONSchemaProps{Type: "string"}
		return
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		special.Property = []string{"one", "two"}
		return
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString([]string{"alpha", "beta-1", "", "é世界", "x/y"}[f.random.Intn(5)])
	case reflect.Bool:
		value.SetBool(f.random.Intn(2) == 0)
	case reflect.Int32:
		value.SetInt([]int64{0, 1, -1, 127, 128, 300, 1<<31 - 1, -1 << 31}[f.random.Intn(8)])
	case reflect.Int64, reflect.Int:
		value.SetInt([]int64{0, 1, -1, 300, 1 << 31, 1<<53 - 1, 1<<53 + 1, -1 << 63}[f.random.Intn(8)])
	case reflect.Float64:
		value.SetFloat([]float64{0, 1.5, -2, 1e21}[f.random.Intn(4)])
	case reflect.Pointer:
		if f.skips(depth) {
			return
		}
		value.Set(reflect.New(value.Type().Elem()))
		f.fill(value.Elem(), depth+1)
	case reflect.Slice:
		if f.skips(depth) {
			return
		}
		if value.Type().Elem().Kind() == reflect.Uint8 {
			value.SetBytes([]byte{0, 1, 0xfe, 0xff}[:f.random.Intn(5)])
			return
		}
		value.Set(reflect.MakeSlice(value.Type(), 1+f.random.Intn(2), 2))
		for i := 0; i < value.Len(); i++ {
			f.fill(value.Index(i), depth+1)
		}
	case reflect.Map:
		if f.skips(depth) {
			return
		}
		value.Set(reflect.MakeMap(value.Type()))
		for _, key := range []string{"first", "__proto__"}[:1+f.random.Intn(2)] {
			item := reflect.New(value.Type().Elem()).Elem()
			f.fill(item, depth+1)
			value.SetMapIndex(reflect.ValueOf(key).Convert(value.Type().Key()), item)
		}
	case reflect.Struct:
		for i := 0; i < value.NumField(); i++ {
			if value.Type().Field(i).IsExported() {
				f.fill(value.Field(i), depth+1)
			}
		}
	}
}

func (f *filler) skips(depth int) bool {
	return depth > 14 || f.random.Intn(100) >= f.percent
}
