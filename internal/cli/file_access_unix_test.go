//go:build unix

package cli

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/settings"
)

// A directory that another program created, such as the volume of a container,
// can be readable for other users.
func TestOtherUsersCannotReadTheFilesOfAServer(t *testing.T) {
	dir := t.TempDir()
	fatal.If(t, os.Chmod(dir, 0o755))
	p := serveProcess(t, "--listen", anyPort, "--data", dir)
	wants(t, exit.OK)(p.foliot("secret", "create"))
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		files++
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}

// A trusted file is refused if other users can change it. A file with a secret is
// refused if other users can read it.
func TestFilesThatOthersMayReadOrWriteAreRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
		fatal.If(t, os.Chmod(path, mode))
		return path
	}
	data := filepath.Join(dir, "data")
	fatal.If(t, os.Mkdir(data, 0o700))
	file("data/FOLIOT", "", 0o600)
	fatal.If(t, os.Chmod(data, 0o750))
	fatal.If(t, os.Symlink(file("open.yaml", "log-level: error\n", 0o666), filepath.Join(dir, "link.yaml")))
	tls := servertest.NewAuthority(t).Files(time.Now().Add(time.Hour))
	fatal.If(t, os.Chmod(tls.Key, 0o644))
	_, token := settings.MintToken()
	for _, c := range []struct{ args, path, mode, remedy string }{
		{"serve --listen 127.0.0.1:0 --data " + data, data, "0750", "chmod 700 "},
		{"token create --data " + data, data, "0750", "chmod 700 "},
		{"serve --listen 127.0.0.1:0 --store memory: --config " + dir + "/link.yaml", "link.yaml", "0666", "chmod go-w "},
		{"serve --listen 127.0.0.1:0 --config " + file("a.yaml", "store: redis://foliot:secret@127.0.0.1:1\n", 0o644), "a.yaml", "0644", "chmod 6"},
		{"serve --store memory: --listen 127.0.0.1:0 --tls-cert " + tls.Cert + " --tls-key " + tls.Key, tls.Key, "0644", "chmod 6"},
		{"ls --token-file " + file("token", token, 0o644), "token", "0644", "chmod 6"},
		{"ls --ca-cert " + file("ca.pem", "x", 0o666), "ca.pem", "0666", "chmod go-w "},
		{"listen --verify @" + file("secret", settings.MintSecret(), 0o604), "secret", "0604", "chmod 6"},
	} {
		ctx, end := context.WithTimeout(t.Context(), servertest.Patience) // a server that accepts the file would not end
		var out, errOut bytes.Buffer
		code := run(ctx, append([]string{"--server", "http://127.0.0.1:1"}, strings.Fields(c.args)...), strings.NewReader(""), &out, &errOut)
		end()
		errs := errOut.String()
		if code != exit.Usage || !strings.Contains(errs, c.path) || !strings.Contains(errs, "mode "+c.mode) || !strings.Contains(errs, c.remedy) {
			t.Errorf("foliot %s: %d %s%s", c.args, code, out.String(), errs)
		}
		if strings.Contains(errs, "secret@") {
			t.Errorf("%s", errs)
		}
	}
	wants(t, exit.OK)((&session{t: t, server: "http://127.0.0.1:1"}).run("", "config", "--config", file("b.yaml", "log-level: error\n", 0o644)))
}

// The usual remedy would lock other users out of their own directory.
func TestNoErrorAdvisesToCloseADirectoryOfOthers(t *testing.T) {
	dir := t.TempDir()
	fatal.If(t, os.WriteFile(filepath.Join(dir, "passwd"), nil, 0o600))
	fatal.If(t, os.Chmod(dir, 0o755))
	_, errs, code := (&session{t: t, server: "http://127.0.0.1:1"}).run("", "token", "create", "--data", dir)
	if code == exit.OK || strings.Contains(errs, "chmod") || !strings.Contains(errs, "not a foliot data directory") {
		t.Errorf("%d %s", code, errs)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("it has mode %v now, %v", info.Mode(), err)
	}
}

// Files of root in the directory of a service's user would stop the service.
func TestNoCommandWritesAsRootIntoADirectoryOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	const other = 65534
	empty, store := t.TempDir(), t.TempDir()
	bare := &session{t: t}
	wants(t, exit.OK)(bare.runBare("token", "create", "--data", store, "--for", "operator", "--scope", "admin"))
	for _, dir := range []string{empty, store} {
		fatal.If(t, os.Chown(dir, other, other))
	}
	for _, c := range []struct{ args, dir string }{
		{"token create --data " + store, store},
		{"serve --listen 127.0.0.1:0 --data " + store, store},
		{"restore - --data " + empty, empty},
	} {
		before, _ := os.ReadDir(c.dir)
		_, errs, code := bare.runBare(strings.Fields(c.args)...)
		if code != exit.Usage || !strings.Contains(errs, "runs as root") || !strings.Contains(errs, "sudo -u ") || !strings.Contains(errs, "chown -R root "+c.dir) {
			t.Errorf("foliot %s: %d %s", c.args, code, errs)
		}
		if after, _ := os.ReadDir(c.dir); len(after) != len(before) {
			t.Errorf("foliot %s left files: %v", c.args, after)
		}
	}
}
