package cli

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/servertest"
)

// Editors of Windows and PowerShell write these forms.
func TestATextFileMayHaveAByteOrderMarkAndUTF16IsNamed(t *testing.T) {
	s := newSession(t)
	token, _, _ := s.runBare("token", "generate")
	const task = `{"delay": "1h", "http": {"url": "http://127.0.0.1:9/"}}` + "\n"
	for _, c := range []struct{ content, command string }{
		{task, "import FILE"},
		{"\n" + task, "import -"},
		{"kind: queue\nname: q\n", "apply -f FILE"},
		{"kind: queue\nname: q\n", "apply -f -"},
		{"@daily http://127.0.0.1:9/a\n", "cron import FILE"},
		{"@daily http://127.0.0.1:9/b\n", "cron import -"},
		{`{"order": 42}`, "add http://127.0.0.1:9/ --in 1h --json @FILE"},
		{`{"order": 42}`, "add http://127.0.0.1:9/ --in 1h --json @-"},
		{`{"order": 42}`, "add --kind k --in 1h --args @FILE"},
		{token, "ls --token-file FILE"},
		{"log-level: info\n", "config --config FILE"},
	} {
		run := func(content string) (errs string, code int) {
			file := filepath.Join(t.TempDir(), "file")
			servertest.WriteFile(t, file, []byte(content))
			_, errs, code = s.run(content, strings.Fields(strings.ReplaceAll(c.command, "FILE", file))...)
			return errs, code
		}
		if errs, code := run("\ufeff" + c.content); code != exit.OK {
			t.Errorf("%s with a byte order mark: %s", c.command, errs)
		}
		wide := []byte("\xff\xfe")
		for _, unit := range utf16.Encode([]rune(c.content)) {
			wide = binary.LittleEndian.AppendUint16(wide, unit)
		}
		isYAML := strings.HasPrefix(c.command, "apply") || strings.HasPrefix(c.command, "config") // which may be UTF-16
		switch errs, code := run(string(wide)); {
		case isYAML && code != exit.OK:
			t.Errorf("%s in UTF-16: %s", c.command, errs)
		case !isYAML && (code != exit.Usage || !strings.Contains(errs, "it is UTF-16, not UTF-8: convert it with `iconv")):
			t.Errorf("%s in UTF-16: code %d, %s", c.command, code, errs)
		}
	}
}
