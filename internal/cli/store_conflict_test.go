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

// With a Redis as the store, no server would read the directory.
func TestADirectoryThatNoServerReadsIsNotWritten(t *testing.T) {
	t.Chdir(t.TempDir())
	commands := map[string]string{
		"token create --data dir --for operator --scope admin": "foliot token generate",
		"restore backup.tar --data dir":                        "foliot import",
	}
	t.Setenv("FOLIOT_STORE", "redis://:sesame@127.0.0.1:6379")
	for line, instead := range commands {
		out, errs, code := newSession(t).runBare(strings.Fields(line)...)
		if code != exit.Usage || !strings.Contains(errs, "--data: FOLIOT_STORE makes a Redis the store") || !strings.Contains(errs, instead) || strings.Contains(out+errs, "sesame") {
			t.Errorf("%s ended with %d: %s%s", line, code, out, errs)
		}
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("it made %v", left)
	}
	for _, store := range []string{"elsewhere", "", "memory:"} {
		t.Setenv("FOLIOT_STORE", store)
		makeToken(t, t.TempDir())
	}
}

// Scripts and units set a directory for all servers, so it is no error.
func TestServeNotesADirectoryThatARedisReplaces(t *testing.T) {
	const redis = "redis://:sesame@127.0.0.1:1"
	text := "data: /var/lib/foliot\nstore: " + redis + "\n"
	file := filepath.Join(t.TempDir(), "foliot.yaml")
	servertest.WriteFile(t, file, []byte(text))
	for _, row := range []struct {
		env, args []string
		note      string // the setting of the directory; empty means no note
	}{
		{[]string{"FOLIOT_STORE=" + redis}, []string{"--data", "x"}, "(flag)"},
		{nil, []string{"--data", "x", "--store", redis}, "(flag)"},
		{nil, []string{"--data", "x", "--config", file}, "(flag)"},
		{[]string{"FOLIOT_STORE=" + redis, "FOLIOT_DATA=x"}, nil, "(environment FOLIOT_DATA)"},
		{nil, []string{"--config", file}, "(file " + file + ":1)"},
		{[]string{"FOLIOT_STORE=" + redis}, nil, ""},
		{[]string{"FOLIOT_STORE="}, []string{"--data", "x", "--config", file}, ""},
		{[]string{"FOLIOT_STORE=memory:"}, []string{"--data", "x"}, ""},
	} {
		t.Run("", func(t *testing.T) {
			setAll(t, row.env)
			_, errs, code := newSession(t).runBare(append([]string{"config"}, row.args...)...)
			if code != exit.OK || (row.note == "") != (errs == "") || !strings.Contains(errs, row.note) || strings.Contains(errs, "sesame") {
				t.Errorf("config %v ended with %d: %s", row.args, code, errs)
			}
		})
	}
}

func setAll(t *testing.T, env []string) {
	t.Helper()
	for _, setting := range env {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
}

func TestCommandsRefuseADirectoryThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"file", "backup"} {
		fatal.If(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	s := &session{t: t, server: "http://127.0.0.1:1", dir: dir}
	for _, line := range []string{"token create --data $DIR/file", "token create --data $DIR/file/x", "restore $DIR/backup --data $DIR/file", "doctor data $DIR/file", "token create --data $DIR"} {
		if _, stderr, code := s.run("", s.words(line)...); code != exit.Usage || strings.Count(stderr, "\n") != 1 {
			t.Errorf("foliot %s ended with %d and printed %q", line, code, stderr)
		}
	}
}
