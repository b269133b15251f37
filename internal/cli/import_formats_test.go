package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/cli/exit"
)

// test/formats/make.sh has made the files with the binaries of older versions.
func TestAnExportOfEachOlderVersionIsImportedWhole(t *testing.T) {
	files, err := filepath.Glob("../../test/formats/testdata/export-*.ndjson")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := newSession(t)
			if out, errs, code := s.run(string(data), "import", "-"); code != exit.OK {
				t.Fatalf("import ended with %d: %s%s", code, out, errs)
			}
			exported, errs, code := s.run("", "export")
			if code != exit.OK {
				t.Fatalf("export ended with %d: %s", code, errs)
			}
			if d := cmp.Diff(exportedLines(t, string(data)), exportedLines(t, exported)); d != "" {
				t.Errorf("the lines differ (-old, +now):\n%s", d)
			}
		})
	}
}

// exportedLines returns the lines of an export by their names, without fields
// that older versions did not export.
func exportedLines(t *testing.T, text string) map[string]any {
	t.Helper()
	lines := map[string]any{}
	for line := range strings.Lines(text) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		kept := map[string]any{}
		for _, name := range []string{"at", "queue", "http", "work", "timeout", "priority", "labels", "retry", "cron", "every", "timezone", "paused", "task"} {
			if v, has := fields[name]; has {
				kept[name] = v
			}
		}
		lines[fmt.Sprint(fields["name"])] = kept
	}
	return lines
}
