package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
)

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
