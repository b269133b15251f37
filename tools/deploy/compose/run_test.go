package compose

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/foliot/foliot/tools/deploy/container"
)

func TestMain(m *testing.M) { os.Exit(container.RunTests(m)) }

// network has an address of this machine for each service. Docker gives each
// service an address in the network of the project.
var network = map[string]string{"foliot": "127.8.0.1", "foliot-1": "127.8.0.1", "foliot-2": "127.8.0.2", "foliot-3": "127.8.0.3", "redis": "127.8.0.4", "prometheus": "127.8.0.5", "postgres": "127.8.0.6"}

// hosts is /etc/hosts of the containers.
func hosts(p *types.Project) string {
	var text strings.Builder
	for name, s := range p.Services {
		fmt.Fprintln(&text, network[name], name)
		for _, n := range s.Networks {
			if n != nil && len(n.Aliases) > 0 {
				fmt.Fprintln(&text, network[name], strings.Join(n.Aliases, " "))
			}
		}
	}
	return text.String()
}

// prepare copies the Compose files and makes the secrets with the script.
func prepare(t *testing.T) (dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to the users of the containers")
	}
	dir = t.TempDir()
	container.Must(t, os.CopyFS(dir, os.DirFS(composeDir)))
	secrets(t, dir)
	return dir
}

// secrets runs the script, and returns its output.
func secrets(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, "secrets.sh"))
	cmd.Env = append(os.Environ(), "FOLIOT="+container.Foliot(t), "FOLIOT_HOST=timers.example")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("secrets.sh: %v\n%s", err, out)
	}
	return string(out)
}

// run starts a server of the project, and waits until it is ready.
func run(t *testing.T, p *types.Project, s types.ServiceConfig) (*container.Container, *exec.Cmd) {
	t.Helper()
	c := prepareServer(t, p, s)
	return c, c.Start([]string{"serve"}, []string{"/usr/bin/foliot", "health"}, s.HealthCheck.Test[1:])
}

// prepareServer returns the container of a server. The files and their owners are
// those of the host, as Docker mounts them.
func prepareServer(t *testing.T, p *types.Project, s types.ServiceConfig) *container.Container {
	t.Helper()
	c := container.New(t, hosts(p))
	for _, secret := range s.Secrets {
		file := p.Secrets[secret.Source].File
		text, err := os.ReadFile(file)
		container.Must(t, err)
		info, err := os.Stat(file)
		container.Must(t, err)
		owner := info.Sys().(*syscall.Stat_t)
		c.Write("/run/secrets/"+secret.Source, string(text), info.Mode().Perm(), int(owner.Uid), int(owner.Gid))
	}
	for _, v := range s.Volumes { // the image has this directory, and Docker copies its owner
		c.Directory(v.Target, 0o700, container.User, container.User)
	}
	for name := range s.Environment {
		c.Env = append(c.Env, name+"="+value(s, name))
	}
	c.Env = append(c.Env, "FOLIOT_LISTEN="+network[s.Name]+":8750")
	return c
}

// delivers receives a callback at the name of the service, which all servers
// know.
func delivers(t *testing.T, c *container.Container, service string) {
	t.Helper()
	if out := c.Foliot("doctor"); strings.Contains(out, "BAD") {
		t.Errorf("doctor: %s", out)
	}
	if out := c.Foliot("listen", service+":9000", "--try", "100ms", "--count", "1"); !strings.Contains(out, "attempt 1") {
		t.Errorf("no callback: %s", out)
	}
}

func TestOneServerDeliversAndKeepsItsTasks(t *testing.T) {
	p := load(t, prepare(t), "one-node.yaml")
	s := p.Services["foliot"]
	c, cmd := run(t, p, s)
	delivers(t, c, s.Name)
	c.Foliot("add", "http://127.0.0.1:9/later", "--in", "24h", "--name", "later")
	container.Stop(t, cmd)
	c.Start([]string{"serve"}, s.HealthCheck.Test[1:])
	c.Foliot("get", "later")
}

func TestAServerOnAPostgreSQLDeliversAfterMigrate(t *testing.T) {
	dir := prepare(t)
	p := load(t, dir, "postgres.yaml")
	password, err := os.ReadFile(filepath.Join(dir, "secrets", "postgres.password"))
	container.Must(t, err)
	container.Postgres(t, network["postgres"], "5432", string(password))
	s := p.Services["foliot"]
	c := prepareServer(t, p, s)
	c.Foliot("postgres", "migrate")
	c.Start([]string{"serve"}, s.HealthCheck.Test[1:])
	delivers(t, c, s.Name)
}

func TestThreeServersShareTheRedisAndPrometheusSeesAll(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed")
	}
	dir := prepare(t)
	p := load(t, dir, "three-nodes.yaml")
	startRedis(t, p)
	all := map[string]*container.Container{}
	for _, s := range servers(p) {
		all[s.Name], _ = run(t, p, s)
	}
	for name, c := range all {
		delivers(t, c, name)
		accepts(t, dir, network[name]+":8750")
	}
	if out := all["foliot-1"].Foliot("cluster", "nodes"); strings.Count(out, "foliot-") < 3 {
		t.Errorf("the servers are: %s", out)
	}
	token, err := all["foliot-2"].Command("/usr/bin/foliot", "token", "create", "--for", "operator", "--scope", "read", "--label", "prometheus").Output()
	container.Must(t, err)
	container.Must(t, os.WriteFile(filepath.Join(dir, "secrets", "prometheus.token"), token, 0o400))
	watch(t, dir)
}

// accepts checks that the server at an address has a certificate for each of its
// names, and that it accepts the first token and no other.
func accepts(t *testing.T, dir, addr string) {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(dir, "secrets", "operator.token"))
	container.Must(t, err)
	cert, err := os.ReadFile(filepath.Join(dir, "secrets", "cert.pem"))
	container.Must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	for _, name := range []string{"foliot", "localhost", "timers.example"} {
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: name},
			DisableKeepAlives: true,
		}}
		for token, want := range map[string]int{strings.TrimSpace(string(token)): http.StatusOK, "": http.StatusUnauthorized} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+addr+"/v1/tokens", nil)
			container.Must(t, err)
			r.Host = name
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			reply, err := client.Do(r)
			container.Must(t, err)
			reply.Body.Close()
			if reply.StatusCode != want {
				t.Errorf("%s as %s with a token of %d bytes: %s", addr, name, len(token), reply.Status)
			}
		}
	}
}

// startRedis runs the command of the file as the user of the image, with the
// paths of this machine.
func startRedis(t *testing.T, p *types.Project) {
	t.Helper()
	s, data := p.Services["redis"], t.TempDir()
	user := uint32(999)
	if s.User != "999:999" {
		t.Errorf("Redis runs as %s", s.User)
	}
	container.Must(t, errors.Join(os.Chown(data, int(user), int(user)), os.Chmod(filepath.Dir(data), 0o755)))
	acl := filepath.Join(data, "users.acl") // a copy that this user can reach
	text, err := os.ReadFile(p.Secrets["redis-users.acl"].File)
	container.Must(t, err)
	container.Must(t, errors.Join(os.WriteFile(acl, text, 0o400), os.Chown(acl, int(user), int(user))))
	args := append([]string{}, s.Command[1:]...)
	for i, word := range args {
		args[i] = strings.NewReplacer("/run/secrets/redis-users.acl", acl, "/data", data).Replace(word)
	}
	cmd := exec.Command(s.Command[0], append(args, "--bind", network["redis"])...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL}
	log := container.Start(t, cmd)
	container.Wait(t, log, container.Answers(network["redis"]+":6379"))
	check := exec.Command(s.HealthCheck.Test[1], append([]string{"-h", network["redis"]}, s.HealthCheck.Test[2:]...)...)
	if out, err := check.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "PONG" {
		t.Errorf("the health check of Redis: %v: %s", err, out)
	}
	refused := exec.Command("redis-cli", "-e", "-h", network["redis"], "--no-auth-warning", "--user", "health", "--pass", "none", "get", "foliot:meta")
	if out, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(out), "NOPERM") {
		t.Errorf("the user of the health check may read: %v: %s", err, out)
	}
}

// watch runs Prometheus with the configuration of the file, until it has
// scraped three servers and loaded the rules. There is no DNS here, so the
// configuration gets the addresses of the servers.
func watch(t *testing.T, dir string) {
	t.Helper()
	prometheus, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed")
	}
	text, err := os.ReadFile(filepath.Join(dir, "prometheus.yaml"))
	container.Must(t, err)
	rules, err := filepath.Abs(filepath.Join(root, "docs", "grafana", "alerts.yaml"))
	container.Must(t, err)
	config := strings.NewReplacer("/run/secrets/", filepath.Join(dir, "secrets")+"/", "/etc/prometheus/alerts.yaml", rules, "15s", "1s").Replace(string(text))
	file := filepath.Join(t.TempDir(), "prometheus.yaml")
	container.Must(t, os.WriteFile(file, []byte(config), 0o600))
	container.Output(t, "promtool", "check", "config", file)
	before, _, found := strings.Cut(config, "    dns_sd_configs:")
	if !found {
		t.Fatal("the configuration of Prometheus finds no servers by their name")
	}
	container.Must(t, os.WriteFile(file, []byte(before+"    static_configs: [{targets: ['127.8.0.1:8750', '127.8.0.2:8750', '127.8.0.3:8750']}]\n"), 0o600))
	at := network["prometheus"] + ":9090"
	s := load(t, dir, "three-nodes.yaml", "monitoring.yaml").Services["prometheus"]
	args := []string{"--web.listen-address=" + at}
	for _, word := range s.Command {
		args = append(args, strings.NewReplacer("=/etc/prometheus/prometheus.yaml", "="+file, "=/prometheus", "="+t.TempDir()).Replace(word))
	}
	log := container.Start(t, exec.Command(prometheus, args...))
	container.Wait(t, log, func() error {
		var reply struct {
			Data struct {
				Result []struct{ Value [2]any }
			}
		}
		if err := get("http://"+at+"/api/v1/query?query=sum(up)", &reply); err != nil {
			return err
		}
		if len(reply.Data.Result) != 1 || reply.Data.Result[0].Value[1] != "3" {
			return fmt.Errorf("Prometheus reads %v of 3 servers", reply.Data.Result)
		}
		return nil
	})
	answers(t, s, at)
	container.Wait(t, log, func() error {
		var reply struct {
			Data struct {
				Groups []struct {
					Rules []struct{ Health string }
				}
			}
		}
		if err := get("http://"+at+"/api/v1/rules", &reply); err != nil {
			return err
		}
		if len(reply.Data.Groups) == 0 || len(reply.Data.Groups[0].Rules) < 20 {
			return errors.New("Prometheus has too few rules")
		}
		for _, r := range reply.Data.Groups[0].Rules {
			if r.Health != "ok" {
				return errors.New("a rule is " + r.Health)
			}
		}
		return nil
	})
}

// answers requests the URL of the health check of a service, at the address at.
func answers(t *testing.T, s types.ServiceConfig, at string) {
	t.Helper()
	url := s.HealthCheck.Test[len(s.HealthCheck.Test)-1]
	reply, err := http.Get(strings.Replace(url, "localhost:9090", at, 1))
	container.Must(t, err)
	reply.Body.Close()
	if reply.StatusCode != http.StatusOK || !strings.Contains(url, "localhost:9090") {
		t.Errorf("the health check of %s gets %s from %s", s.Name, reply.Status, url)
	}
}

func get(url string, to any) error {
	r, err := http.Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return json.NewDecoder(r.Body).Decode(to)
}

func TestTheSecretsAreMadeOnceAndBelongToTheirContainers(t *testing.T) {
	dir := prepare(t)
	before := map[string]string{}
	for name, user := range map[string]uint32{"operator.token": container.User, "key.pem": container.User, "cert.pem": container.User, "foliot.yaml": container.User, "redis-users.acl": 999, "grafana.password": 472} {
		path := filepath.Join(dir, "secrets", name)
		info, err := os.Stat(path)
		container.Must(t, err)
		mode := fs.FileMode(0o400)
		if name == "cert.pem" {
			mode = 0o444
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; owner != user || info.Mode().Perm() != mode {
			t.Errorf("%s belongs to %d, and its mode is %v", name, owner, info.Mode())
		}
		text, err := os.ReadFile(path)
		container.Must(t, err)
		before[path] = string(text)
	}
	if out := secrets(t, dir); out != "" {
		t.Errorf("the second run made secrets: %s", out)
	}
	for path, text := range before {
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%s has changed: %v", path, err)
		}
	}
	files, err := os.ReadDir(filepath.Join(dir, "secrets"))
	if err != nil || len(files) != len(before) {
		t.Errorf("the secrets are %v, %v", files, err)
	}
}

func TestTheCertificateIsForANameOrAnAddress(t *testing.T) {
	for host, check := range map[string]func(*x509.Certificate) bool{
		"timers.example": func(c *x509.Certificate) bool { return slices.Contains(c.DNSNames, "timers.example") },
		"192.0.2.7": func(c *x509.Certificate) bool {
			return len(c.IPAddresses) == 1 && c.IPAddresses[0].String() == "192.0.2.7"
		},
		"2001:db8::7": func(c *x509.Certificate) bool {
			return len(c.IPAddresses) == 1 && c.IPAddresses[0].String() == "2001:db8::7"
		},
	} {
		dir := prepare(t)
		container.Must(t, os.Remove(filepath.Join(dir, "secrets", "cert.pem")))
		cmd := exec.Command(filepath.Join(dir, "secrets.sh"))
		cmd.Env = append(os.Environ(), "FOLIOT_HOST="+host)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", host, err, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, "secrets", "cert.pem"))
		container.Must(t, err)
		block, _ := pem.Decode(text)
		cert, err := x509.ParseCertificate(block.Bytes)
		container.Must(t, err)
		if !check(cert) || !slices.Contains(cert.DNSNames, "foliot") {
			t.Errorf("the certificate for %s has the names %v and %v", host, cert.DNSNames, cert.IPAddresses)
		}
	}
}

func TestTheScriptReadsTheSettingsAndRunsNothing(t *testing.T) {
	dir := prepare(t)
	cert, made := filepath.Join(dir, "secrets", "cert.pem"), filepath.Join(dir, "made")
	container.Must(t, os.Remove(cert))
	container.Must(t, os.WriteFile(filepath.Join(dir, ".env"), []byte("X=$(touch "+made+")\nFOLIOT_HOST=\"shop.example\"\n"), 0o600))
	cmd := exec.Command(filepath.Join(dir, "secrets.sh"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(cert)
	container.Must(t, err)
	block, _ := pem.Decode(text)
	parsed, err := x509.ParseCertificate(block.Bytes)
	container.Must(t, err)
	if !slices.Contains(parsed.DNSNames, "shop.example") {
		t.Errorf("the certificate has the names %v", parsed.DNSNames)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the script ran a command of .env as root")
	}
}
