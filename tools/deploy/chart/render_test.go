package chart

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/tools/deploy/container"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	decoder "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	root      = "../../.."
	chartDir  = root + "/deploy/helm/foliot"
	alerts    = root + "/docs/grafana/alerts.yaml"
	dashboard = root + "/docs/grafana/foliot.json"
)

// Sets of values that users may have.
const (
	directory = `
tokenSecret: {name: foliot-token}
tls: {secret: foliot-tls, caKey: ca.crt}
config: {egress-allow: [127.0.0.1/32], log-level: debug}
`
	behindIngress = `
tokenSecret: {name: foliot-token, key: first}
trustedProxies: [10.0.0.0/8, 192.168.0.0/16]
hosts: [other.example]
ingress: {enabled: true, className: nginx, host: timers.example, tlsSecret: timers-tls, annotations: {a/b: c}}
directory: {size: 20Gi, storageClass: fast}
receiverCA: {secret: authorities, key: ca.pem}
`
	redis = `
store: redis
tokenSecret: {name: foliot-token}
redis: {urlSecret: {name: foliot-redis}}
tls: {secret: foliot-tls, caKey: ca.crt}
config: {egress-allow: [127.0.0.1/32], durability: async}
`
	postgres = `
store: postgres
tokenSecret: {name: foliot-token}
postgres: {replicas: 2, urlSecret: {name: foliot-postgres}}
tls: {secret: foliot-tls, caKey: ca.crt}
secretFiles: [{secret: postgres-tls, path: /run/postgres}]
config: {egress-allow: [127.0.0.1/32], durability: async}
`
	clientCertificates = `
tokenSecret: {name: foliot-token}
tls: {secret: foliot-tls, caKey: ca.crt}
secretFiles: [{secret: clients, path: /run/clients/}]
config: {tls-client-ca: /run/clients/ca.crt, grace: 1m30s}
terminationGracePeriodSeconds: 105
metrics:
  tokenSecret: {name: foliot-metrics}
  clientSecret: prometheus-tls
  serviceMonitor: {enabled: true}
`
	everything = redis + `
metrics:
  tokenSecret: {name: foliot-metrics, key: t}
  serviceMonitor: {enabled: true, labels: {release: prometheus}}
  rules: {enabled: true, labels: {release: prometheus}}
  dashboard: {enabled: true}
secretFiles: [{secret: redis-tls, path: /run/redis-tls}, {secret: clients, path: /run/clients}]
env: [{name: OTEL_EXPORTER_OTLP_HEADERS, valueFrom: {secretKeyRef: {name: otel, key: headers}}}]
image: {tag: 1.2.3, pullSecrets: [registry]}
service: {type: LoadBalancer, port: 443, annotations: {x: z}}
podAnnotations: {a: b}
podLabels: {team: shop}
nodeSelector: {disk: ssd}
tolerations: [{key: timers, operator: Exists}]
affinity: {nodeAffinity: {}}
priorityClassName: high
`
)

var sets = map[string]string{"directory": directory, "behind an ingress": behindIngress, "client certificates": clientCertificates, "redis": redis, "postgres": postgres, "everything": everything}

// rendered holds the objects of the chart for one set of values.
type rendered struct {
	configs     []*core.ConfigMap
	service     *core.Service
	stateful    *apps.StatefulSet
	deployment  *apps.Deployment
	budget      *policy.PodDisruptionBudget
	ingress     *networking.Ingress
	monitor     *monitoring.ServiceMonitor
	rules       *monitoring.PrometheusRule
	account     *core.ServiceAccount
	test        *core.Pod
	notes, text string
}

// pod returns the template of the servers.
func (r rendered) pod() core.PodTemplateSpec {
	if r.stateful != nil {
		return r.stateful.Spec.Template
	}
	return r.deployment.Spec.Template
}

// selector returns the labels that select the pods of the servers.
func (r rendered) selector() map[string]string {
	if r.stateful != nil {
		return r.stateful.Spec.Selector.MatchLabels
	}
	return r.deployment.Spec.Selector.MatchLabels
}

// render renders the chart as "helm install foliot" would. Unknown fields in an
// object are errors.
func render(values string) (rendered, error) {
	var r rendered
	parsed := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(values), &parsed); err != nil {
		return r, err
	}
	chart, err := loader.Load(chartDir)
	if err != nil {
		return r, err
	}
	chart.Metadata.Version, chart.Metadata.AppVersion = "1.2.3", "1.2.3"
	release := common.ReleaseOptions{Name: "foliot", Namespace: "default", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, parsed, release, common.DefaultCapabilities)
	if err != nil {
		return r, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return r, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		if strings.HasSuffix(name, "NOTES.txt") {
			r.notes = text
			continue
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		r.text += "---\n# " + name + "\n" + text + "\n"
		docs := decoder.NewYAMLReader(newReader(text))
		for {
			doc, err := docs.Read()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return r, err
			}
			if err := r.add(doc); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// add decodes one object.
func (r *rendered) add(doc []byte) error {
	var kind meta.TypeMeta
	if err := yaml.Unmarshal(doc, &kind); err != nil || kind.Kind == "" {
		return err // a document with only comments has no kind
	}
	switch kind.Kind {
	case "ConfigMap":
		r.configs = append(r.configs, new(core.ConfigMap))
		return yaml.UnmarshalStrict(doc, r.configs[len(r.configs)-1])
	case "Service":
		return decode(doc, &r.service)
	case "StatefulSet":
		return decode(doc, &r.stateful)
	case "Deployment":
		return decode(doc, &r.deployment)
	case "PodDisruptionBudget":
		return decode(doc, &r.budget)
	case "Ingress":
		return decode(doc, &r.ingress)
	case "ServiceMonitor":
		return decode(doc, &r.monitor)
	case "PrometheusRule":
		return decode(doc, &r.rules)
	case "ServiceAccount":
		return decode(doc, &r.account)
	case "Pod":
		return decode(doc, &r.test)
	}
	return errors.New("the chart has an object of the kind " + kind.Kind + ", which no test knows")
}

func decode[T any](doc []byte, to **T) error {
	if *to != nil {
		return errors.New("the chart has this object twice: " + string(doc))
	}
	*to = new(T)
	return yaml.UnmarshalStrict(doc, *to)
}

func mustRender(t *testing.T, values string) rendered {
	t.Helper()
	r, err := render(values)
	container.Must(t, err)
	return r
}

func TestTheLinterFindsNothing(t *testing.T) {
	for name, values := range sets {
		parsed := map[string]any{}
		container.Must(t, yaml.Unmarshal([]byte(values), &parsed))
		result := lint.RunAll(chartDir, parsed, "default")
		for _, m := range result.Messages {
			if !strings.Contains(m.Error(), "icon is recommended") { // there is none
				t.Errorf("%s: %v", name, m)
			}
		}
		if len(result.Messages) == 0 {
			t.Errorf("%s: the linter did not even miss the icon", name)
		}
	}
}

func TestWrongValuesAreRefusedWithTheRemedy(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{``, `foliot token generate`},
		{`tokenSecret: {name: a}`, `set tls.secret`},
		{`{store: redis, tokenSecret: {name: a}, tls: {secret: b}}`, `redis.urlSecret.name`},
		{`{store: postgres, tokenSecret: {name: a}, tls: {secret: b}}`, `postgres.urlSecret.name`},
		{`{ingress: {enabled: true}, tokenSecret: {name: a}, trustedProxies: [10.0.0.0/8]}`, `ingress.host`},
		{`{metrics: {serviceMonitor: {enabled: true}}, tokenSecret: {name: a}, tls: {secret: b}}`, `--scope read`},
		{directory + `store_: redis`, `store_`},
		{directory + `store: mysql`, `directory`},
		{`{config: {egres-allow: []}, tokenSecret: {name: a}, tls: {secret: b}}`, `at '/config': additional properties 'egres-allow'`},
		{`{config: {listen: "0.0.0.0:1"}, tokenSecret: {name: a}, tls: {secret: b}}`, `'listen' not allowed`},
		{`{config: {grace: 30}, tokenSecret: {name: a}, tls: {secret: b}}`, `/config/grace`},
		{`{config: {grace: 26s}, tokenSecret: {name: a}, tls: {secret: b}}`, `terminationGracePeriodSeconds is 40: it must be at least 15 more than config.grace (26s)`},
		{`{terminationGracePeriodSeconds: 34, tokenSecret: {name: a}, tls: {secret: b}}`, `config.grace (20s)`},
		{`{config: {tls-client-ca: /run/clients/ca.crt}, tokenSecret: {name: a}, tls: {secret: b}}`, `/run/clients: add it to secretFiles`},
		{strings.Replace(clientCertificates, "clientSecret: prometheus-tls", "", 1), `metrics.clientSecret`},
		{`{tls: {caKey: ca.crt}, tokenSecret: {name: a}, trustedProxies: [10.0.0.0/8]}`, `tls.secret is missing`},
		{redis + `env: [{name: FOLIOT_STORE, value: "redis://a:b@c"}]`, `/env/0/name`},
		{directory + `podLabels: {app.kubernetes.io/name: other}`, `/podLabels/app.kubernetes.io~1name`},
		{directory + `directory: {size: many}`, `size`},
		{directory + `secretFiles: [{secret: a, path: relative}]`, `path`},
	} {
		if _, err := render(c.values); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\nerror %v, want %q", c.values, err, c.want)
		}
	}
}

// TestTheSchemaKnowsAllSettings compares the keys that the schema allows below
// config with the settings of the server. The chart sets the others itself.
func TestTheSchemaKnowsAllSettings(t *testing.T) {
	own := []string{"listen", "data", "store", "node", "host", "tls-cert", "tls-key", "trusted-proxy", "bootstrap-token-file", "receiver-ca"}
	text := container.Output(t, container.Foliot(t), "config", "--example")
	var known int
	for line := range strings.SplitSeq(text, "\n") {
		key, _, found := strings.Cut(strings.TrimPrefix(line, "#"), ":")
		if !found || strings.Contains(key, " ") || line == key {
			continue
		}
		known++
		_, err := render("{tokenSecret: {name: a}, tls: {secret: b}, config: {" + key + ": 1}}")
		if allowed := err == nil || !strings.Contains(err.Error(), "not allowed"); allowed == slices.Contains(own, key) {
			t.Errorf("config.%s is allowed: %t (%v)", key, allowed, err)
		}
	}
	if known < 25 {
		t.Errorf("foliot config --example has %d keys", known)
	}
}

func TestTheObjectsKeepTheirPromises(t *testing.T) {
	for name, values := range sets {
		t.Run(name, func(t *testing.T) {
			r := mustRender(t, values)
			pod := r.pod()
			checkSecurity(t, pod.Spec)
			checkSecurity(t, r.test.Spec)
			settings := settingsOf(t, r)
			checkFiles(t, pod.Spec, settings)
			checkFiles(t, r.test.Spec, nil)
			checkStop(t, pod.Spec, settings)
			for key, value := range r.selector() {
				if pod.Labels[key] != value || r.service.Spec.Selector[key] != value {
					t.Errorf("the label %s is %q on the pods and %q in the service, want %q", key, pod.Labels[key], r.service.Spec.Selector[key], value)
				}
				if _, same := r.test.Labels[key]; same && key == "app.kubernetes.io/component" {
					t.Error("the service would send requests to the test pod")
				}
			}
			server := pod.Spec.Containers[0]
			for _, init := range pod.Spec.InitContainers {
				checkSecurity(t, core.PodSpec{SecurityContext: pod.Spec.SecurityContext, AutomountServiceAccountToken: new(bool), EnableServiceLinks: new(bool), Containers: []core.Container{init}})
				if init.Image != server.Image || !reflect.DeepEqual(init.Args, []string{"postgres", "migrate"}) || !reflect.DeepEqual(variable(init, "FOLIOT_STORE"), variable(server, "FOLIOT_STORE")) {
					t.Errorf("%s does not make the tables of the server: %v", init.Name, init)
				}
				for _, m := range init.VolumeMounts {
					if !slices.ContainsFunc(server.VolumeMounts, func(s core.VolumeMount) bool { return reflect.DeepEqual(s, m) }) {
						t.Errorf("%s mounts %v", init.Name, m)
					}
				}
			}
			if port := r.service.Spec.Ports[0].TargetPort.StrVal; port != server.Ports[0].Name || server.Ports[0].ContainerPort != 8750 {
				t.Errorf("the service sends to the port %s, and the pod has %v", port, server.Ports)
			}
			for _, host := range []string{"foliot", "foliot.default", "foliot.default.svc", "foliot.default.svc.cluster.local"} {
				if !slices.Contains(strings.Split(variable(server, "FOLIOT_HOST").Value, ","), host) {
					t.Errorf("the server does not answer to %s", host)
				}
			}
			if strings.Contains(r.notes, "<no value>") || strings.Contains(r.text, "<no value>") {
				t.Error("a value is missing")
			}
			for _, e := range server.Env {
				if strings.Contains(e.Name, "STORE") || strings.Contains(e.Name, "HEADERS") {
					if e.Value != "" || e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil {
						t.Errorf("%s is not a reference to a Secret: %v", e.Name, e)
					}
				}
			}
		})
	}
}

// checkSecurity checks the rights of a pod.
func checkSecurity(t *testing.T, pod core.PodSpec) {
	t.Helper()
	own := pod.SecurityContext
	if !*own.RunAsNonRoot || *own.RunAsUser != 65532 || *own.RunAsGroup != 65532 || *own.FSGroup != 65532 || own.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod has the rights %v", own)
	}
	if *pod.AutomountServiceAccountToken || *pod.EnableServiceLinks {
		t.Error("the pod has a token of the cluster, or the variables of all services")
	}
	for _, c := range pod.Containers {
		s := c.SecurityContext
		if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
			t.Errorf("%s has the rights %v", c.Name, s)
		}
	}
}

// settingsOf returns the settings in the file of the server.
func settingsOf(t *testing.T, r rendered) map[string]any {
	t.Helper()
	settings := map[string]any{}
	container.Must(t, yaml.UnmarshalStrict([]byte(r.configs[0].Data["foliot.yaml"]), &settings))
	return settings
}

// checkStop checks that a stopped server has the time for its hook, for its
// attempts and for the replies after them.
func checkStop(t *testing.T, pod core.PodSpec, settings map[string]any) {
	t.Helper()
	grace := 20 * time.Second
	if own, set := settings["grace"].(string); set {
		var err error
		if grace, err = time.ParseDuration(own); err != nil {
			t.Fatal(err)
		}
	}
	var hook time.Duration
	if l := pod.Containers[0].Lifecycle; l != nil {
		hook = time.Duration(l.PreStop.Sleep.Seconds) * time.Second
	}
	const replies = 5 * time.Second
	if has := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; has < hook+grace+replies {
		t.Errorf("a stopped server has %v, and needs %v, %v and %v", has, hook, grace, replies)
	}
}

// checkFiles checks the files that variables, arguments and settings name. Each
// file must be in a mount, each mount must have a volume, and each volume must
// be mounted.
func checkFiles(t *testing.T, pod core.PodSpec, settings map[string]any) {
	t.Helper()
	volumes := map[string]core.VolumeSource{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v.VolumeSource
		if v.Secret != nil && *v.Secret.DefaultMode != 0o440 || v.ConfigMap != nil && *v.ConfigMap.DefaultMode != 0o440 {
			t.Errorf("the server refuses the mode of the volume %s", v.Name)
		}
	}
	c := pod.Containers[0]
	used := map[string]bool{}
	for _, m := range c.VolumeMounts {
		used[m.Name] = true
		if _, exists := volumes[m.Name]; !exists && m.Name != "data" {
			t.Errorf("the mount %s has no volume", m.Name)
		}
		if m.ReadOnly == (m.Name == "data") {
			t.Errorf("the mount %s is read-only: %t", m.Name, m.ReadOnly)
		}
	}
	for name := range volumes {
		if !used[name] {
			t.Errorf("the volume %s is not mounted", name)
		}
	}
	var paths []string
	for _, e := range c.Env {
		if strings.HasPrefix(e.Value, "/") {
			paths = append(paths, e.Value)
		}
	}
	for _, value := range settings {
		if path, isText := value.(string); isText && strings.HasPrefix(path, "/") {
			paths = append(paths, path)
		}
	}
	for _, a := range c.Args {
		if strings.HasPrefix(a, "/") {
			paths = append(paths, a)
		}
	}
	for _, path := range paths {
		if !slices.ContainsFunc(c.VolumeMounts, func(m core.VolumeMount) bool { return filepath.Dir(path) == filepath.Clean(m.MountPath) }) {
			t.Errorf("%s is below no mount", path)
		}
	}
}

func variable(c core.Container, name string) core.EnvVar {
	for _, e := range c.Env {
		if e.Name == name {
			return e
		}
	}
	return core.EnvVar{}
}

func TestADirectoryHasOneServer(t *testing.T) {
	r := mustRender(t, behindIngress)
	if r.deployment != nil || r.budget != nil || *r.stateful.Spec.Replicas != 1 {
		t.Error("a second server could open the directory")
	}
	if r.stateful.Spec.PodManagementPolicy != apps.ParallelPodManagement {
		t.Error("a rollback would not replace a pod that cannot start")
	}
	if r.pod().Spec.Containers[0].Lifecycle != nil {
		t.Error("an upgrade of the only server would take longer")
	}
	claim := r.stateful.Spec.VolumeClaimTemplates[0]
	if claim.Name != "data" || *claim.Spec.StorageClassName != "fast" || claim.Spec.Resources.Requests.Storage().String() != "20Gi" {
		t.Errorf("the volume is %v", claim)
	}
	if got := r.ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service; got.Name != r.service.Name || got.Port.Name != r.service.Spec.Ports[0].Name {
		t.Errorf("the ingress sends to %v", got)
	}
	if hosts := variable(r.pod().Spec.Containers[0], "FOLIOT_HOST").Value; !strings.HasSuffix(hosts, ",timers.example,other.example") {
		t.Errorf("the server answers to %s", hosts)
	}
}

func TestServersOnARedisAreReplacedOneByOne(t *testing.T) {
	r := mustRender(t, redis)
	spec := r.deployment.Spec
	if r.stateful != nil || *spec.Replicas != 3 || spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 || spec.Strategy.RollingUpdate.MaxSurge.IntValue() != 1 {
		t.Errorf("the servers are %v", spec)
	}
	if r.budget.Spec.MaxUnavailable.IntValue() != 1 || !reflect.DeepEqual(r.budget.Spec.Selector.MatchLabels, r.selector()) {
		t.Errorf("the disruption budget is %v", r.budget.Spec)
	}
	if p := r.budget.Spec.UnhealthyPodEvictionPolicy; p == nil || *p != policy.AlwaysAllow {
		t.Error("without the Redis, no server is ready, and no machine could be drained")
	}
	if l := r.pod().Spec.Containers[0].Lifecycle; l == nil || l.PreStop.Sleep.Seconds < 5 {
		t.Error("a server would stop while the cluster still sends it requests")
	}
	if node := variable(r.pod().Spec.Containers[0], "FOLIOT_NODE"); node.ValueFrom.FieldRef.FieldPath != "metadata.name" {
		t.Errorf("the names of the servers come from %v", node)
	}
	if one := mustRender(t, strings.Replace(redis, "redis: {", "redis: {replicas: 1, ", 1)); one.budget != nil {
		t.Error("the disruption budget of a single server would block each upgrade of its machine")
	}
}

func TestServersOnAPostgreSQLMakeTheirTables(t *testing.T) {
	r := mustRender(t, postgres)
	if init := r.pod().Spec.InitContainers; len(init) != 1 || len(init[0].VolumeMounts) != 1 || init[0].VolumeMounts[0].MountPath != "/run/postgres" {
		t.Errorf("the containers before the server are %v", init)
	}
	if *r.deployment.Spec.Replicas != 2 || r.budget == nil || variable(r.pod().Spec.Containers[0], "FOLIOT_STORE").ValueFrom.SecretKeyRef.Name != "foliot-postgres" {
		t.Errorf("the servers are %v", r.deployment.Spec)
	}
	other := mustRender(t, strings.Replace(postgres, "postgres: {", "postgres: {migrate: false, ", 1))
	if init := other.pod().Spec.InitContainers; len(init) > 0 {
		t.Errorf("without migrate, the containers before the server are %v", init)
	}
	if init := mustRender(t, redis).pod().Spec.InitContainers; len(init) > 0 {
		t.Errorf("on a Redis, the containers before the server are %v", init)
	}
}

func TestAChangeOfTheSettingsRestartsTheServers(t *testing.T) {
	const key = "checksum/config"
	a, b := mustRender(t, directory).pod(), mustRender(t, strings.Replace(directory, "debug", "info", 1)).pod()
	if a.Annotations[key] == "" || a.Annotations[key] == b.Annotations[key] {
		t.Errorf("the checksums are %q and %q", a.Annotations[key], b.Annotations[key])
	}
}

func TestPrometheusFindsTheServersAndTheAlerts(t *testing.T) {
	r := mustRender(t, everything)
	for key, value := range r.monitor.Spec.Selector.MatchLabels {
		if r.service.Labels[key] != value {
			t.Errorf("the service has the label %s=%s, want %s", key, r.service.Labels[key], value)
		}
	}
	end := r.monitor.Spec.Endpoints[0]
	if end.Port != r.service.Spec.Ports[0].Name || end.Scheme == nil || *end.Scheme != "https" || end.Authorization.Credentials.Name != "foliot-metrics" || *end.TLSConfig.ServerName != "foliot.default.svc" || end.TLSConfig.CA.Secret.Key != "ca.crt" {
		t.Errorf("the endpoint is %+v", end)
	}
	client := mustRender(t, clientCertificates).monitor.Spec.Endpoints[0].TLSConfig
	if client.Cert.Secret.Name != "prometheus-tls" || client.Cert.Secret.Key != "tls.crt" || client.KeySecret.Name != "prometheus-tls" || client.KeySecret.Key != "tls.key" {
		t.Errorf("the certificate of Prometheus is %+v", client)
	}
	text, err := os.ReadFile(alerts)
	container.Must(t, err)
	var want monitoring.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict(text, &want); err != nil || len(want.Groups) == 0 || len(want.Groups[0].Rules) < 20 {
		t.Fatal(err, "too few alerts")
	}
	if !reflect.DeepEqual(r.rules.Spec, want) {
		t.Error("the alerts are not those of docs/grafana")
	}
	public := mustRender(t, behindIngress+"metrics: {rules: {enabled: true}}\n").rules.Spec.Groups
	if last := public[len(public)-1].Rules[0]; last.Record != "foliot:url" || last.Labels["url"] != "https://timers.example" {
		t.Errorf("behind an ingress, the alerts link to %v", last)
	}
	board, err := os.ReadFile(dashboard)
	container.Must(t, err)
	i := slices.IndexFunc(r.configs, func(c *core.ConfigMap) bool { return c.Labels["grafana_dashboard"] == "1" })
	if i < 0 || strings.TrimSpace(r.configs[i].Data["foliot.json"]) != strings.TrimSpace(string(board)) {
		t.Error("the dashboard is not that of docs/grafana")
	}
}

// TestTheValuesOfTheDocumentationInstallTheServer renders the two files of
// values in docs/install.md. The second is an addition to the first.
func TestTheValuesOfTheDocumentationInstallTheServer(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/install.md")
	container.Must(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Kubernetes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)\n   ```yaml\n(.*?)\n   ```").FindAllStringSubmatch(section, -1)
	if len(blocks) != 2 {
		t.Fatalf("the section has %d blocks of values, want 2", len(blocks))
	}
	one := strings.ReplaceAll("\n"+blocks[0][1], "\n   ", "\n")
	if r := mustRender(t, one); r.stateful == nil {
		t.Error("the first values have no server with a volume")
	}
	if r := mustRender(t, one+strings.ReplaceAll("\n"+blocks[1][1], "\n   ", "\n")); r.deployment == nil {
		t.Error("the second values have no servers on a Redis")
	}
}

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError) // Helm reports each symbolic link
	os.Exit(container.RunTests(m))
}
