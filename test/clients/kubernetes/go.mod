module vigie/test/kubernetes

go 1.22

require (
	github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring v0.74.0
	k8s.io/api v0.30.1
	k8s.io/apimachinery v0.30.1
	sigs.k8s.io/yaml v1.4.0
)
