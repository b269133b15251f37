package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// must ends the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// built is the image that the tests share.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "foliot-image-test-")
	if err == nil {
		built = dir
		err = run("../..", dir, "1.2.3")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func TestTwoBuildsAreEqualInEachByte(t *testing.T) {
	again := t.TempDir()
	settings := filepath.Join(again, "env") // as go env -w writes it
	must(t, os.WriteFile(settings, []byte("GOFLAGS=-tags=other\nGOAMD64=v3\n"), 0o600))
	t.Setenv("GOENV", settings)
	t.Setenv("GOEXPERIMENT", "noregabi")
	again = filepath.Join(again, "dist")
	must(t, run("../..", again, "1.2.3"))
	if a, b := sums(t, built), sums(t, again); !maps.Equal(a, b) || len(a) < 6 {
		t.Errorf("%d files differ from %d files", len(a), len(b))
	}
}

// The machine that builds may trust authorities of its own.
func TestTheAuthoritiesArePublicOnes(t *testing.T) {
	pool, n := map[string]bool{}, 0
	for rest := authorities(); ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		one, err := x509.ParseCertificate(block.Bytes)
		must(t, err)
		pool[one.Subject.CommonName] = true
	}
	if n < 100 || !pool["ISRG Root X1"] || !pool["DigiCert Global Root G2"] {
		t.Errorf("%d certificates: %v", n, slices.Sorted(maps.Keys(pool)))
	}
}

// sums returns the checksum of each file below a folder.
func sums(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = sha256.Sum256(text)
		return err
	})
	must(t, err)
	return all
}

// written returns the only entry of the layout.
func written(t *testing.T) v1.ImageIndex {
	t.Helper()
	all, err := layout.ImageIndexFromPath(filepath.Join(built, "foliot-image"))
	must(t, err)
	m, err := all.IndexManifest()
	if err != nil || len(m.Manifests) != 1 {
		t.Fatalf("the layout has %+v, %v", m, err)
	}
	list, err := all.ImageIndex(m.Manifests[0].Digest)
	must(t, err)
	return list
}

func TestTheLayoutHasAValidImageForEachArchitecture(t *testing.T) {
	list := written(t)
	if err := validate.Index(list); err != nil {
		t.Error(err)
	}
	m, err := list.IndexManifest()
	must(t, err)
	if len(m.Manifests) != len(architectures) {
		t.Fatalf("it has %d images", len(m.Manifests))
	}
	machine := map[string]byte{"amd64": 62, "arm64": 183} // e_machine of ELF
	for _, one := range m.Manifests {
		image, err := list.Image(one.Digest)
		must(t, err)
		config, err := image.ConfigFile()
		must(t, err)
		if config.Architecture != one.Platform.Architecture || config.Config.User != userID {
			t.Errorf("an image for %s is %s and runs as %s", one.Platform.Architecture, config.Architecture, config.Config.User)
		}
		all := contents(t, image)
		if elf := all["usr/bin/foliot"].data; len(elf) < 20 || elf[18] != machine[config.Architecture] {
			t.Errorf("the binary for %s has another machine", config.Architecture)
		}
		if home := all["var/lib/foliot/"]; home.owner != user || home.mode != 0o700 {
			t.Errorf("the volume belongs to %d with the mode %o", home.owner, home.mode)
		}
		for name, e := range all {
			if e.owner != 0 && name != "var/lib/foliot/" {
				t.Errorf("%s belongs to %d: the server could change it", name, e.owner)
			}
		}
	}
}

// contents returns the files of an image.
func contents(t *testing.T, image v1.Image) map[string]entry {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	r, err := layers[0].Uncompressed()
	must(t, err)
	defer r.Close()
	all := map[string]entry{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		data, err := io.ReadAll(tr)
		must(t, err)
		all[h.Name] = entry{h.Name, h.Mode, h.Uid, data}
	}
}

// container is an unpacked image. Its programs see only its files, and run as
// its user.
type container struct {
	t    *testing.T
	root string
	env  []string
	args []string // of the entry point
}

func unpack(t *testing.T) *container {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can change to another root directory and user")
	}
	image, err := tarball.ImageFromPath(filepath.Join(built, "foliot-image-amd64.tar"), nil)
	must(t, err)
	config, err := image.ConfigFile()
	must(t, err)
	c := &container{t: t, root: t.TempDir(), env: config.Config.Env, args: config.Config.Entrypoint}
	must(t, os.Chmod(c.root, 0o755))
	all := contents(t, image)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e, path := all[name], filepath.Join(c.root, name)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = os.WriteFile(path, e.data, 0o600)
		}
		mode := fs.FileMode(e.mode & 0o777)
		if e.mode&0o1000 != 0 {
			mode |= fs.ModeSticky
		}
		must(t, errors.Join(err, os.Chown(path, e.owner, e.owner), os.Chmod(path, mode)))
	}
	return c
}

// command returns a command of foliot in the container.
func (c *container) command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.args[0], args...)
	cmd.Env, cmd.Dir = c.env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root, Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// start starts the server, and waits until it is ready.
func (c *container) start() *exec.Cmd {
	c.t.Helper()
	cmd := c.command("serve")
	var output bytes.Buffer
	cmd.Stderr = &output
	must(c.t, cmd.Start())
	c.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for end := time.Now().Add(20 * time.Second); ; {
		out, err := c.command("health", "--ready").CombinedOutput()
		if err == nil {
			return cmd
		}
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			c.t.Fatalf("the server is not ready: %s\n%s", out, output.String())
		}
	}
}

// TestTheImageRunsAsItsUser delivers a task, kills the server, starts it again
// and delivers a task that waited. The server changes no file outside of its
// volume and of /tmp, so the root can be read-only.
func TestTheImageRunsAsItsUser(t *testing.T) {
	c := unpack(t)
	called := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { called <- r.URL.Path }))
	defer receiver.Close()

	token, err := c.command("token", "generate").Output()
	must(t, err)
	secret := filepath.Join(c.root, "tmp", "token") // Docker mounts a secret at another place
	must(t, errors.Join(os.WriteFile(secret, token, 0o400), os.Chown(secret, user, user)))
	addr := freeAddr(t)
	c.env = append(c.env, "FOLIOT_LISTEN="+addr, "FOLIOT_BOOTSTRAP_TOKEN_FILE=/tmp/token", "FOLIOT_EGRESS_ALLOW=127.0.0.0/8")
	before := c.files()

	server := c.start()
	create := func(name, delay string) {
		t.Helper()
		body, _ := json.Marshal(map[string]any{"delay": delay, "http": map[string]any{"url": receiver.URL + "/" + name}})
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPut, "http://"+addr+"/v1/tasks/"+name, bytes.NewReader(body))
		must(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		reply, err := http.DefaultClient.Do(r)
		must(t, err)
		text, _ := io.ReadAll(reply.Body)
		reply.Body.Close()
		if reply.StatusCode/100 != 2 {
			t.Fatalf("%s: %s", reply.Status, text)
		}
	}
	next := func(want string) {
		t.Helper()
		select {
		case got := <-called:
			if got != want {
				t.Errorf("the call was %s, want %s", got, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s was not called", want)
		}
	}
	create("first", "100ms")
	next("/first")
	create("second", "3s")
	must(t, server.Process.Kill())
	_ = server.Wait()
	if out, err := c.command("health").CombinedOutput(); err == nil {
		t.Errorf("a dead server is healthy: %s", out)
	}
	server = c.start()
	next("/second")
	must(t, server.Process.Signal(syscall.SIGTERM))
	if err := server.Wait(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	if after := c.files(); !maps.Equal(before, after) {
		t.Error("the server has changed files outside of its volume")
	}
	if info, err := os.Stat(filepath.Join(c.root, dataDir)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data directory: %v, %v", info, err)
	}
}

// files describes all files outside of the volume and of /tmp.
func (c *container) files() map[string]string {
	c.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(c.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(c.root, path)
		if name == "tmp" || name == "var/lib/foliot" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err == nil {
			all[name] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime())
		}
		return err
	})
	must(c.t, err)
	return all
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}
