// Decodes Kubernetes manifests from standard input strictly: an unknown or repeated member is an error. Prints the kind
// and name of each manifest.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

var kinds = map[string]func() any{
	"apps/v1/Deployment":                      func() any { return &apps.Deployment{} },
	"networking.k8s.io/v1/Ingress":            func() any { return &networking.Ingress{} },
	"networking.k8s.io/v1/NetworkPolicy":      func() any { return &networking.NetworkPolicy{} },
	"policy/v1/PodDisruptionBudget":           func() any { return &policy.PodDisruptionBudget{} },
	"v1/ConfigMap":                            func() any { return &core.ConfigMap{} },
	"v1/PersistentVolumeClaim":                func() any { return &core.PersistentVolumeClaim{} },
	"v1/Service":                              func() any { return &core.Service{} },
	"v1/ServiceAccount":                       func() any { return &core.ServiceAccount{} },
	"monitoring.coreos.com/v1/PrometheusRule": func() any { return &monitoring.PrometheusRule{} },
	"monitoring.coreos.com/v1/ServiceMonitor": func() any { return &monitoring.ServiceMonitor{} },
}

func main() {
	reader := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	for {
		document, err := reader.Read()
		if err == io.EOF {
			return
		}
		fail(err)
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		var head struct {
			meta.TypeMeta   `json:",inline"`
			meta.ObjectMeta `json:"metadata"`
		}
		fail(strict.Unmarshal(document, &head))
		if head.Kind == "" {
			continue
		}
		make, ok := kinds[head.APIVersion+"/"+head.Kind]
		if !ok {
			fail(fmt.Errorf("%s/%s: unknown kind", head.APIVersion, head.Kind))
		}
		if err := strict.UnmarshalStrict(document, make()); err != nil {
			fail(fmt.Errorf("%s %s: %w", head.Kind, head.Name, err))
		}
		fmt.Println(head.Kind, head.Name)
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
