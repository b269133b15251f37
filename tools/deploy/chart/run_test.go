package chart

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/tools/deploy/container"
	core "k8s.io/api/core/v1"
)

func newReader(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }

// start starts the first container of a pod, and waits for its probes. The
// server listens on port instead of 8750. port must be free on this machine.
func start(t *testing.T, r rendered, name, port string, secrets map[string]map[string]string) (*container.Container, *exec.Cmd) {
	t.Helper()
	var hosts strings.Builder
	for _, alias := range r.pod().Spec.HostAliases {
		hosts.WriteString(alias.IP + " " + strings.Join(alias.Hostnames, " ") + "\n")
	}
	c := container.New(t, hosts.String())
	mount(t, c, r, r.pod().Spec, name, secrets)
	for i := range c.Env {
		c.Env[i] = strings.Replace(c.Env[i], ":8750", ":"+port, 1)
	}
	c.Env = append(c.Env, "FOLIOT_LISTEN=0.0.0.0:"+port)
	server := r.pod().Spec.Containers[0]
	return c, c.Start(server.Args, server.StartupProbe.Exec.Command, server.ReadinessProbe.Exec.Command, server.LivenessProbe.Exec.Command)
}

// helmTest runs the pod of "helm test", which reaches the server by the name of
// the service. It returns its error and its output.
func helmTest(t *testing.T, r rendered, port string, secrets map[string]map[string]string) (string, error) {
	t.Helper()
	c := container.New(t, "127.0.0.1 foliot.default.svc\n")
	mount(t, c, r, r.test.Spec, r.test.Name, secrets)
	c.Env = append(c.Env, "FOLIOT_LISTEN=0.0.0.0:8750") // the image sets this variable
	args := []string{"/usr/bin/foliot"}
	for _, arg := range r.test.Spec.Containers[0].Args {
		args = append(args, strings.Replace(arg, ":8750", ":"+port, 1))
	}
	for i := range c.Env {
		c.Env[i] = strings.Replace(c.Env[i], "svc:8750", "svc:"+port, 1)
	}
	out, err := c.Command(args...).CombinedOutput()
	return string(out), err
}

// mount writes the volumes and resolves the variables as a cluster does. Files
// belong to root and to fsGroup. Symbolic links lead to the current version of
// a Secret. The group can write to the root of the data volume.
func mount(t *testing.T, c *container.Container, r rendered, spec core.PodSpec, name string, secrets map[string]map[string]string) {
	t.Helper()
	group := int(*spec.SecurityContext.FSGroup)
	sources := map[string]core.VolumeSource{}
	for _, v := range spec.Volumes {
		sources[v.Name] = v.VolumeSource
	}
	first := spec.Containers[0]
	for _, m := range first.VolumeMounts {
		source := sources[m.Name]
		switch {
		case source.ConfigMap != nil:
			publish(t, c, m.MountPath, r.configs[0].Data, fs.FileMode(*source.ConfigMap.DefaultMode), group)
		case source.Secret != nil:
			files, exists := secrets[source.Secret.SecretName]
			if !exists {
				t.Fatalf("there is no Secret %s", source.Secret.SecretName)
			}
			if len(source.Secret.Items) > 0 {
				item := source.Secret.Items[0]
				files = map[string]string{item.Path: files[item.Key]}
			}
			publish(t, c, m.MountPath, files, fs.FileMode(*source.Secret.DefaultMode), group)
		default:
			c.Directory(m.MountPath, fs.ModeSetgid|0o775, 0, group)
		}
	}
	for _, e := range first.Env {
		value := e.Value
		if from := e.ValueFrom; from != nil && from.SecretKeyRef != nil {
			value = secrets[from.SecretKeyRef.Name][from.SecretKeyRef.Key]
		} else if from != nil && from.FieldRef.FieldPath == "metadata.name" {
			value = name
		}
		c.Env = append(c.Env, e.Name+"="+value)
	}
}

// publish writes the files of a Secret or a ConfigMap as the kubelet does.
func publish(t *testing.T, c *container.Container, dir string, files map[string]string, mode fs.FileMode, group int) {
	t.Helper()
	const version = "..2026_11_27"
	c.Directory(filepath.Join(dir, version), fs.ModeSetgid|0o755, 0, group)
	container.Must(t, os.Symlink(version, filepath.Join(c.Root, dir, "..data")))
	for file, text := range files {
		c.Write(filepath.Join(dir, version, file), text, mode, 0, group)
		container.Must(t, os.Symlink(filepath.Join("..data", file), filepath.Join(c.Root, dir, file)))
	}
}

func TestAServerWithAVolumeDeliversAsTheChartStartsIt(t *testing.T) {
	port := freePort(t)
	r := mustRender(t, directory)
	secrets := secretsFor(t, "")
	c, cmd := start(t, r, "foliot-0", port, secrets)
	if out, err := helmTest(t, r, port, secrets); err != nil || !strings.Contains(out, "token") {
		t.Errorf("helm test: %v, %s", err, out)
	}
	if out := c.Foliot("doctor"); strings.Contains(out, "BAD") {
		t.Errorf("doctor: %s", out)
	}
	if out := c.Foliot("listen", "127.0.0.1:0", "--try", "100ms", "--count", "1"); !strings.Contains(out, "attempt 1") {
		t.Errorf("no callback: %s", out)
	}
	c.Foliot("add", "http://127.0.0.1:9/later", "--in", "24h", "--name", "later")
	container.Stop(t, cmd)
	server := r.pod().Spec.Containers[0]
	c.Start(server.Args, server.ReadinessProbe.Exec.Command)
	c.Foliot("get", "later")
}

func TestServersOnARedisStartAsTheChartStartsThem(t *testing.T) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed")
	}
	at := freePort(t)
	log := container.Start(t, exec.Command(path, "--port", at, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--appendonly", "yes", "--maxmemory", "64mb", "--maxmemory-policy", "noeviction", "--requirepass", "secret"))
	container.Wait(t, log, container.Answers("127.0.0.1:"+at))
	port, other := freePort(t), freePort(t)
	r := mustRender(t, redis)
	secrets := secretsFor(t, "redis://:secret@127.0.0.1:"+at)
	c, cmd := start(t, r, "foliot-a", port, secrets)
	_, second := start(t, r, "foliot-b", other, secrets)
	if out := c.Foliot("cluster", "nodes"); !strings.Contains(out, "foliot-a") || !strings.Contains(out, "foliot-b") {
		t.Errorf("the servers are: %s", out)
	}
	if out := c.Foliot("listen", "127.0.0.1:0", "--try", "100ms", "--count", "1"); !strings.Contains(out, "attempt 1") {
		t.Errorf("no callback: %s", out)
	}
	container.Stop(t, second)
	container.Stop(t, cmd)
}

func TestServersOnAPostgreSQLMakeTheirTablesAndDeliver(t *testing.T) {
	at, port := freePort(t), freePort(t)
	container.Postgres(t, "127.0.0.1", at, "secret")
	r := mustRender(t, postgres)
	secrets := secretsFor(t, "")
	secrets["foliot-postgres"] = map[string]string{"url": "postgres://foliot:secret@127.0.0.1:" + at + "/foliot?search_path=foliot"}
	secrets["postgres-tls"] = nil
	init := container.New(t, "")
	spec := r.pod().Spec
	spec.Containers = spec.InitContainers
	mount(t, init, r, spec, "foliot-a", secrets)
	if out := init.Foliot(spec.Containers[0].Args...); !strings.Contains(out, "made the tables") {
		t.Errorf("migrate: %s", out)
	}
	c, cmd := start(t, r, "foliot-a", port, secrets)
	if out := c.Foliot("listen", "127.0.0.1:0", "--try", "100ms", "--count", "1"); !strings.Contains(out, "attempt 1") {
		t.Errorf("no callback: %s", out)
	}
	container.Stop(t, cmd)
}

func TestAServerBehindAProxyKeepsItsTokenInThePod(t *testing.T) {
	port := freePort(t)
	r := mustRender(t, behindIngress)
	secrets := secretsFor(t, "")
	c, cmd := start(t, r, "foliot-0", port, secrets)
	if out := c.Foliot("ls"); strings.Contains(out, "plain") {
		t.Errorf("the token crosses the network: %s", out)
	}
	if out, err := helmTest(t, r, port, secrets); err != nil || !strings.Contains(out, "/readyz returns 200") {
		t.Errorf("helm test: %v, %s", err, out)
	}
	container.Stop(t, cmd)
	if out, err := helmTest(t, r, port, secrets); err == nil {
		t.Errorf("helm test without a server: %s", out)
	}
}

func TestAServerThatRequiresCertificatesOfItsClientsIsHealthy(t *testing.T) {
	port := freePort(t)
	r := mustRender(t, clientCertificates)
	secrets := secretsFor(t, "")
	start(t, r, "foliot-0", port, secrets)
	if out, err := helmTest(t, r, port, secrets); err != nil {
		t.Errorf("helm test: %v, %s", err, out)
	}
	// The client only reads: a write could fail before the alert arrives.
	conn, err := tls.Dial("tcp", "127.0.0.1:"+port, &tls.Config{InsecureSkipVerify: true})
	container.Must(t, err)
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("a client without a certificate got: %v", err)
	}
}

// secretsFor returns the Secrets that a user makes.
func secretsFor(t *testing.T, redisURL string) map[string]map[string]string {
	t.Helper()
	cert, key := certificate(t)
	token := container.Output(t, container.Foliot(t), "token", "generate")
	return map[string]map[string]string{
		"foliot-token": {"token": token, "first": token},
		"foliot-tls":   {"tls.crt": cert, "tls.key": key, "ca.crt": cert},
		"foliot-redis": {"url": redisURL},
		"clients":      {"ca.crt": cert},
		"authorities":  {"ca.pem": cert},
	}
}

// certificate returns a self-signed certificate for the service, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	container.Must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"foliot.default.svc"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	container.Must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	container.Must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	container.Must(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
