package compose

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/foliot/foliot/tools/deploy/container"
	"go.yaml.in/yaml/v3"
)

const root = "../../.."

var composeDir = filepath.Join(root, "deploy", "compose")

// projects are the combinations of files that the documentation names.
var projects = [][]string{
	{"one-node.yaml"},
	{"three-nodes.yaml"},
	{"postgres.yaml"},
	{"one-node.yaml", "monitoring.yaml"},
	{"three-nodes.yaml", "monitoring.yaml"},
	{"postgres.yaml", "monitoring.yaml"},
}

// load loads files as Docker Compose does, with the schema of the format.
func load(t *testing.T, dir string, files ...string) *types.Project {
	t.Helper()
	project, err := tryLoad(t, dir, []string{"FOLIOT_IMAGE=foliot:1.2.3", "FOLIOT_HOST=timers.example", "FOLIOT_EGRESS_ALLOW=127.8.0.0/16"}, files...)
	container.Must(t, err)
	return project
}

func tryLoad(t *testing.T, dir string, env []string, files ...string) (*types.Project, error) {
	t.Helper()
	var paths []string
	for _, name := range files {
		paths = append(paths, filepath.Join(dir, name))
	}
	options, err := cli.NewProjectOptions(paths, cli.WithWorkingDirectory(dir), cli.WithEnv(env), cli.WithResolvedPaths(true))
	container.Must(t, err)
	return options.LoadProject(t.Context())
}

// servers returns the services that run Foliot, in the order of their names.
func servers(p *types.Project) (found []types.ServiceConfig) {
	for _, name := range p.ServiceNames() {
		if strings.HasPrefix(name, "foliot") {
			found = append(found, p.Services[name])
		}
	}
	return found
}

func TestTheFilesKeepTheirPromises(t *testing.T) {
	for _, files := range projects {
		t.Run(strings.Join(files, "+"), func(t *testing.T) {
			p := load(t, composeDir, files...)
			nodes := map[string]bool{}
			for _, s := range servers(p) {
				nodes[value(s, "FOLIOT_NODE")] = true
				if s.Image != "foliot:1.2.3" {
					t.Errorf("%s has the image %s", s.Name, s.Image)
				}
				if !strings.HasPrefix(value(s, "FOLIOT_TLS_KEY"), "/run/secrets/") || value(s, "FOLIOT_INSECURE_LISTEN") != "" {
					t.Errorf("%s has no TLS", s.Name)
				}
				if !slices.Equal(strings.Split(value(s, "FOLIOT_HOST"), ","), []string{"foliot", "timers.example"}) {
					t.Errorf("%s answers to %s", s.Name, value(s, "FOLIOT_HOST"))
				}
				if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) < grace(t, s)+10*time.Second {
					t.Errorf("%s has too little time to stop", s.Name)
				}
			}
			if want := len(servers(p)); len(nodes) != want || want == 0 {
				t.Errorf("%d servers have %d names", want, len(nodes))
			}
			for name, s := range p.Services {
				checkRights(t, s)
				checkSecrets(t, p, s)
				if !regexp.MustCompile(`:v?\d+\.\d+[^:/]*$`).MatchString(s.Image) {
					t.Errorf("%s has an image without a version: %s", name, s.Image)
				}
				if s.HealthCheck == nil || s.HealthCheck.Disable || len(s.HealthCheck.Test) < 2 {
					t.Errorf("%s has no health check", name)
				}
				for _, v := range s.Volumes {
					if v.Type != types.VolumeTypeBind {
						continue
					}
					if _, err := os.Stat(v.Source); err != nil || !v.ReadOnly {
						t.Errorf("%s mounts %s, read-only: %t: %v", name, v.Source, v.ReadOnly, err)
					}
				}
			}
		})
	}
}

// checkRights checks that a container has no rights that it does not need.
func checkRights(t *testing.T, s types.ServiceConfig) {
	t.Helper()
	if !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 || s.Privileged || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
		t.Errorf("%s has too many rights", s.Name)
	}
	if !s.ReadOnly {
		t.Errorf("%s can write to its root", s.Name)
	}
	if (s.Name == "prometheus" || s.Name == "grafana") && s.MemLimit == 0 {
		t.Errorf("%s may take the memory of the servers", s.Name)
	}
	if s.Restart != types.RestartPolicyUnlessStopped || s.Logging == nil || s.Logging.Driver != "local" {
		t.Errorf("%s does not start again, or its log grows without an end", s.Name)
	}
}

// checkSecrets checks that each file below /run/secrets that a container names
// is a secret of it, and that no variable contains a secret.
func checkSecrets(t *testing.T, p *types.Project, s types.ServiceConfig) {
	t.Helper()
	known := map[string]bool{}
	for _, secret := range s.Secrets {
		if from, exists := p.Secrets[secret.Source]; !exists || filepath.Dir(from.File) != filepath.Join(p.WorkingDir, "secrets") {
			t.Errorf("the secret %s comes from %s", secret.Source, from.File)
		}
		known["/run/secrets/"+secret.Source] = true
	}
	words := slices.Clone([]string(s.Command))
	for name := range s.Environment {
		words = append(words, value(s, name))
		if v := value(s, name); strings.Contains(name, "PASSWORD") && !strings.HasPrefix(v, "/run/secrets/") || strings.Contains(v, "redis://") || strings.Contains(v, "postgres://") {
			t.Errorf("%s has a secret in the variable %s", s.Name, name)
		}
	}
	for _, word := range words {
		if strings.HasPrefix(word, "/run/secrets/") && !known[word] {
			t.Errorf("%s has no secret %s", s.Name, word)
		}
	}
}

// grace returns how long a server may wait for its attempts.
func grace(t *testing.T, s types.ServiceConfig) time.Duration {
	t.Helper()
	text := value(s, "FOLIOT_GRACE")
	if text == "" {
		text = "20s" // the default
	}
	d, err := time.ParseDuration(text)
	container.Must(t, err)
	return d
}

func value(s types.ServiceConfig, name string) string {
	if v := s.Environment[name]; v != nil {
		return *v
	}
	return ""
}

func TestAMissingImageIsNamed(t *testing.T) {
	for _, files := range projects {
		if _, err := tryLoad(t, composeDir, nil, files...); err == nil || !strings.Contains(err.Error(), "FOLIOT_IMAGE") || !strings.Contains(err.Error(), ".env") {
			t.Errorf("%v: %v", files, err)
		}
	}
}

// TestMonitoringUsesTheFilesOfTheDocumentation checks the files of Prometheus
// and Grafana, and that they are mounted where these look for them.
func TestMonitoringUsesTheFilesOfTheDocumentation(t *testing.T) {
	p := load(t, composeDir, "one-node.yaml", "monitoring.yaml")
	mounted := map[string]string{}
	for _, name := range []string{"prometheus", "grafana"} {
		for _, v := range p.Services[name].Volumes {
			mounted[v.Target] = v.Source
		}
	}
	docs, err := filepath.Abs(filepath.Join(root, "docs", "grafana"))
	container.Must(t, err)
	for target, source := range map[string]string{"/etc/prometheus/alerts.yaml": filepath.Join(docs, "alerts.yaml"), "/etc/dashboards/foliot.json": filepath.Join(docs, "foliot.json")} {
		if mounted[target] != source {
			t.Errorf("%s is %s, want %s", target, mounted[target], source)
		}
	}
	var config struct {
		RuleFiles []string `yaml:"rule_files"`
	}
	parse(t, mounted["/etc/prometheus/prometheus.yaml"], &config)
	if !slices.Equal(config.RuleFiles, []string{"/etc/prometheus/alerts.yaml"}) {
		t.Errorf("the rules of Prometheus are %v", config.RuleFiles)
	}
	text, err := os.ReadFile(mounted["/etc/prometheus/prometheus.yaml"])
	container.Must(t, err)
	for _, path := range regexp.MustCompile(`/run/secrets/[a-z.]+`).FindAllString(string(text), -1) {
		if !slices.ContainsFunc(p.Services["prometheus"].Secrets, func(s types.ServiceSecretConfig) bool { return "/run/secrets/"+s.Source == path }) {
			t.Errorf("Prometheus has no secret %s", path)
		}
	}
	var providers struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Type string
			Options    struct{ Path string }
		}
	}
	parse(t, mounted["/etc/grafana/provisioning/dashboards/foliot.yaml"], &providers)
	if len(providers.Providers) != 1 || providers.APIVersion != 1 || providers.Providers[0].Type != "file" || providers.Providers[0].Options.Path != "/etc/dashboards" {
		t.Errorf("the dashboards are %+v", providers)
	}
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, Type, Access, URL string
			IsDefault               bool `yaml:"isDefault"`
		}
	}
	parse(t, mounted["/etc/grafana/provisioning/datasources/foliot.yaml"], &sources)
	if len(sources.Datasources) != 1 || sources.APIVersion != 1 || sources.Datasources[0].Type != "prometheus" || sources.Datasources[0].URL != "http://prometheus:9090" || !sources.Datasources[0].IsDefault {
		t.Fatalf("the data sources are %+v", sources)
	}
	checkDashboard(t, mounted["/etc/dashboards/foliot.json"], sources.Datasources[0].Type)
}

// checkDashboard checks that a dashboard has one variable for a data source of
// the type kind, and that its panels and variables use only this data source.
func checkDashboard(t *testing.T, path, kind string) {
	t.Helper()
	text, err := os.ReadFile(path)
	container.Must(t, err)
	var dashboard any
	container.Must(t, json.Unmarshal(text, &dashboard))
	chooses, uses := 0, 0
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if v["type"] == "datasource" && v["name"] == "datasource" && v["query"] == kind {
				chooses++
			}
			if source, exists := v["datasource"]; exists {
				uses++
				if s, _ := source.(map[string]any); s["type"] != kind || s["uid"] != "${datasource}" {
					t.Errorf("the dashboard uses the data source %v", source)
				}
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(dashboard)
	if chooses != 1 || uses == 0 {
		t.Errorf("the dashboard has %d variables for a data source of type %s, and uses it %d times", chooses, kind, uses)
	}
}

// parse reads a YAML file. Unknown fields are errors, except at the top of the
// configuration of Prometheus.
func parse(t *testing.T, path string, to any) {
	t.Helper()
	f, err := os.Open(path)
	container.Must(t, err)
	defer f.Close()
	d := yaml.NewDecoder(f)
	d.KnownFields(filepath.Base(path) != "prometheus.yaml")
	if err := d.Decode(to); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
