package chart

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
)

func newReader(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }

// user is the user and the group of the image.
const user = 65532

// built is the static binary that the tests share.
var (
	built string
	build sync.Once
)

func binary(t *testing.T) string {
	t.Helper()
	build.Do(func() {
		dir, err := os.MkdirTemp("", "foliot-chart-test-")
		if err != nil {
			t.Fatal(err)
		}
		built = filepath.Join(dir, "foliot")
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", built, "./cmd/foliot")
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
	return built
}

// run returns the output of a program.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, errs.String())
	}
	return string(out)
}

// pod is a pod that runs here: a root directory with the files that a cluster
// would mount, with the modes that it would give them.
type pod struct {
	t    *testing.T
	root string
	name string
	port string
	spec core.PodSpec
	env  []string
}

// start starts the first container of a pod, and waits for its startup and
// readiness probes.
func start(t *testing.T, r rendered, name, port string, secrets map[string]map[string]string) (*pod, *exec.Cmd) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can change to another root directory and user")
	}
	p := &pod{t: t, root: t.TempDir(), name: name, port: port, spec: r.pod().Spec}
	text, err := os.ReadFile(binary(t))
	p.must(err)
	p.must(os.Chmod(p.root, 0o755))
	p.write("/usr/bin/foliot", string(text), 0o755, 0)
	p.write("/etc/hosts", "127.0.0.1 foliot.default.svc\n", 0o644, 0)
	p.mount(r, secrets)
	// The image sets these. The port is free on this machine.
	p.env = append(p.env, "PATH=/usr/bin", "FOLIOT_DATA=/var/lib/foliot/data", "FOLIOT_LISTEN=0.0.0.0:"+port)

	server := p.spec.Containers[0]
	cmd := p.command(append([]string{"/usr/bin/foliot"}, server.Args...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	p.must(cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for _, probe := range []*core.Probe{server.StartupProbe, server.ReadinessProbe, server.LivenessProbe} {
		for end := time.Now().Add(20 * time.Second); ; {
			out, err := p.command(probe.Exec.Command...).CombinedOutput()
			if err == nil {
				break
			}
			if time.Now().After(end) {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				t.Fatalf("%v: %s\n%s", probe.Exec.Command, out, log.String())
			}
		}
	}
	return p, cmd
}

func (p *pod) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// write writes a file that belongs to root and to a group.
func (p *pod) write(path, text string, mode fs.FileMode, group int) {
	p.t.Helper()
	path = filepath.Join(p.root, path)
	p.must(os.MkdirAll(filepath.Dir(path), 0o755))
	p.must(os.WriteFile(path, []byte(text), 0o600))
	p.must(errors.Join(os.Chown(path, 0, group), os.Chmod(path, mode)))
}

// mount writes the volumes, and resolves the variables, as a cluster does: files
// belong to root and to fsGroup, and the root of the data volume is open to it.
func (p *pod) mount(r rendered, secrets map[string]map[string]string) {
	p.t.Helper()
	group := int(*p.spec.SecurityContext.FSGroup)
	sources := map[string]core.VolumeSource{}
	for _, v := range p.spec.Volumes {
		sources[v.Name] = v.VolumeSource
	}
	server := p.spec.Containers[0]
	for _, m := range server.VolumeMounts {
		source := sources[m.Name]
		switch {
		case source.ConfigMap != nil:
			for name, text := range r.configs[0].Data {
				p.write(filepath.Join(m.MountPath, name), text, fs.FileMode(*source.ConfigMap.DefaultMode), group)
			}
		case source.Secret != nil:
			files, exists := secrets[source.Secret.SecretName]
			if !exists {
				p.t.Fatalf("there is no Secret %s", source.Secret.SecretName)
			}
			if len(source.Secret.Items) > 0 {
				item := source.Secret.Items[0]
				files = map[string]string{item.Path: files[item.Key]}
			}
			for name, text := range files {
				p.write(filepath.Join(m.MountPath, name), text, fs.FileMode(*source.Secret.DefaultMode), group)
			}
		default:
			dir := filepath.Join(p.root, m.MountPath)
			p.must(os.MkdirAll(dir, 0o755))
			p.must(errors.Join(os.Chown(dir, 0, group), os.Chmod(dir, fs.ModeSetgid|0o775)))
		}
	}
	for _, e := range server.Env {
		value := e.Value
		if from := e.ValueFrom; from != nil && from.SecretKeyRef != nil {
			value = secrets[from.SecretKeyRef.Name][from.SecretKeyRef.Key]
		} else if from != nil && from.FieldRef.FieldPath == "metadata.name" {
			value = p.name
		}
		p.env = append(p.env, e.Name+"="+value)
	}
}

// command returns a command in the pod.
func (p *pod) command(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Dir = p.env, "/"
	group := uint32(*p.spec.SecurityContext.FSGroup)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: p.root, Credential: &syscall.Credential{Uid: user, Gid: user, Groups: []uint32{group}}, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// foliot runs a command as "kubectl exec" does, and returns its output.
func (p *pod) foliot(args ...string) string {
	p.t.Helper()
	out, err := p.command(append([]string{"/usr/bin/foliot"}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("foliot %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// stop ends a server as a cluster does.
func (p *pod) stop(cmd *exec.Cmd) {
	p.t.Helper()
	p.must(cmd.Process.Signal(syscall.SIGTERM))
	p.must(cmd.Wait())
}

func TestAServerWithAVolumeDeliversAsTheChartStartsIt(t *testing.T) {
	port := freePort(t)
	r := mustRender(t, directory+"service: {port: "+port+"}\n")
	p, cmd := start(t, r, "foliot-0", port, secretsFor(t, ""))
	if out := p.foliot("doctor"); strings.Contains(out, "BAD") {
		t.Errorf("doctor: %s", out)
	}
	if out := p.foliot("listen", "127.0.0.1:0", "--try", "100ms", "--count", "1"); !strings.Contains(out, "attempt 1") {
		t.Errorf("no callback: %s", out)
	}
	p.foliot("add", "http://127.0.0.1:9/later", "--in", "24h", "--name", "later")
	p.stop(cmd)
	again := p.command(append([]string{"/usr/bin/foliot"}, p.spec.Containers[0].Args...)...)
	p.must(again.Start())
	t.Cleanup(func() { _ = again.Process.Kill(); _ = again.Wait() })
	for end := time.Now().Add(20 * time.Second); p.command(p.spec.Containers[0].ReadinessProbe.Exec.Command...).Run() != nil; {
		if time.Now().After(end) {
			t.Fatal("the server did not start again on its volume")
		}
	}
	p.foliot("get", "later")
}

func TestServersOnARedisStartAsTheChartStartsThem(t *testing.T) {
	url := startRedis(t)
	port, other := freePort(t), freePort(t)
	r := mustRender(t, redis+"service: {port: "+port+"}\n")
	secrets := secretsFor(t, url)
	p, cmd := start(t, r, "foliot-a", port, secrets)
	_, second := start(t, r, "foliot-b", other, secrets)
	if out := p.foliot("cluster", "nodes"); !strings.Contains(out, "foliot-a") || !strings.Contains(out, "foliot-b") {
		t.Errorf("the servers are: %s", out)
	}
	if out := p.foliot("listen", "127.0.0.1:0", "--try", "100ms", "--count", "1"); !strings.Contains(out, "attempt 1") {
		t.Errorf("no callback: %s", out)
	}
	p.stop(second)
	p.stop(cmd)
}

// secretsFor returns the Secrets that a user makes.
func secretsFor(t *testing.T, redisURL string) map[string]map[string]string {
	t.Helper()
	cert, key := certificate(t)
	return map[string]map[string]string{
		"foliot-token": {"token": run(t, binary(t), "token", "generate")},
		"foliot-tls":   {"tls.crt": cert, "tls.key": key, "ca.crt": cert},
		"foliot-redis": {"url": redisURL},
	}
}

// certificate returns a certificate for the service that signs itself.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"foliot.default.svc"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// startRedis starts a Redis, and returns its URL.
func startRedis(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed")
	}
	port := freePort(t)
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--appendonly", "yes", "--maxmemory", "64mb", "--maxmemory-policy", "noeviction", "--requirepass", "secret")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for end := time.Now().Add(10 * time.Second); ; {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
			return fmt.Sprintf("redis://:secret@127.0.0.1:%s", port)
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
