package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
)

// A file that config accepts must not stop the server at its restart.
func TestConfigRefusesTheFilesAndHostsThatServeRefuses(t *testing.T) {
	s := newSession(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	servertest.WriteFile(t, in("text"), []byte("not a token and not PEM"))
	files := servertest.NewAuthority(t).Files(servertest.InAYear())
	servertest.WriteFile(t, in("open"), []byte("foliot_x"))
	fatal.If(t, os.Chmod(in("open"), 0o644))
	empty := in("empty")
	fatal.If(t, os.Mkdir(empty, 0o755))
	for _, c := range []struct{ args, flag string }{
		{"--tls-cert " + in("missing") + " --tls-key " + files.Key, "--tls-cert"},
		{"--tls-cert " + files.Cert + " --tls-key " + in("missing"), "--tls-key"},
		{"--tls-cert " + files.Cert + " --tls-key " + in("text"), "--tls-"},
		{"--tls-cert " + files.Cert + " --tls-key " + files.Key + " --tls-client-ca " + in("missing"), "--tls-client-ca"},
		{"--bootstrap-token-file " + in("missing"), "--bootstrap-token-file"},
		{"--bootstrap-token-file " + in("text"), "--bootstrap-token-file"},
		{"--bootstrap-token-file " + in("open"), "--bootstrap-token-file"},
		{"--data " + in("text"), "--data"},
		{"--data " + filepath.Join(in("text"), "below"), "--data"},
		{"--store rediss://127.0.0.1:1?ca=" + in("missing"), "--store"},
		{"--store rediss://127.0.0.1:1?cert=" + in("missing") + "&key=" + in("missing"), "--store"},
		{"--host foliot.example:8750", "--host"},
		{"--host [::1]:8750", "--host"},
		{"--listen 0.0.0.0:0 --data " + in("new"), "--listen"},
	} {
		args := strings.Fields(c.args)
		if !strings.Contains(c.args, "--data") && !strings.Contains(c.args, "--store") {
			args = append(args, "--store", "memory:")
		}
		_, said, code := s.runBare(append([]string{"config"}, args...)...)
		if code != exit.Usage || !strings.HasPrefix(said, "foliot: "+c.flag) {
			t.Errorf("config %s: code %d, %s", c.args, code, said)
		}
		_, refused, code := s.runBare(append([]string{"serve", "--listen", anyPort}, args...)...)
		if code != exit.Usage || refused != said {
			t.Errorf("serve %s: code %d, %q, but config says %q", c.args, code, refused, said)
		}
	}
	for _, args := range []string{
		"--tls-cert " + files.Cert + " --tls-key " + files.Key + " --store memory:", "--data " + in("new"), "--data " + empty, "--host foliot.example --host ::1 --host [::1] --store memory:",
	} {
		wants(t, exit.OK)(s.runBare(append([]string{"config"}, strings.Fields(args)...)...))
	}
	if info, err := os.Stat(empty); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("config changed the directory: %v, %v", info.Mode(), err)
	}
	if _, err := os.Stat(in("new")); err == nil {
		t.Error("config created the directory")
	}
}
