package prose

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// goldenMessages are the files that have all messages of the shipped code.
var goldenMessages = []struct {
	file string
	head string
	log  bool
}{
	{"testdata/logs.golden", "# The log records: level, message, attributes. … is a value.\n", true},
	{"testdata/texts.golden", "# The errors, help texts, tables and replies. … is a value; verbs are those of package fmt.\n", false},
}

// leftOut has the files whose texts another golden file has, or that have none.
var leftOut = map[string]string{
	"internal/api/openapi.go":          "internal/api/testdata/openapi.json",
	"internal/api/openapi_refusals.go": "internal/api/testdata/openapi.json",
	"internal/api/routes.go":           "internal/api/testdata/openapi.json",
	"internal/api/routes_schedules.go": "internal/api/testdata/openapi.json",
	"internal/api/routes_settings.go":  "internal/api/testdata/openapi.json",
	"internal/api/problem_types.go":    "docs/api.md",
	"internal/cli/completion.go":       "scripts of shells",
}

// Users read these texts, search for them, and write alerts for them.
func TestMessagesAreFrozen(t *testing.T) {
	all := shippedMessages(t, os.DirFS(root))
	for _, golden := range goldenMessages {
		got := golden.head + listing(all, golden.log)
		if *update {
			write(t, golden.file, got)
		}
		if diff := cmp.Diff(read(t, golden.file), got); diff != "" {
			t.Errorf("%s (-is +should be); if the change is meant, `make golden PKG=./internal/prose RUN=%s` writes it:\n%s", golden.file, t.Name(), diff)
		}
	}
}

func TestAMessageIsFound(t *testing.T) {
	all := shippedMessages(t, fstest.MapFS{
		"a/a.go": {Data: []byte("package a\n\nimport \"not/a message\"\n\n" + `// A comment is no message.
			type a struct {
				b int ` + "`help:\"Show the b.\" doc:\"Not this one.\"`" + `
			}

			func f(x int, log *slog.Logger) {
				log.Info("b was " + word(x) + " seen", append(args, "b", 1, "c", errors.New("no c"))...)
				log.LogAttrs(ctx, level(x), "it ended", slog.Int("b", 1))
				fmt.Errorf("read %q: %w", "x", err)
				f("first line\n" + "second line\n")
				f("a", "two words")
				f("two words")
				f("%s: %d")
			}`)},
		"internal/b/b.go":      {Data: []byte(`package b; func f() { panic("a fault of ours"); log.Warn("a b") }`)},
		"internal/b/b_test.go": {Data: []byte(`package b; const x = "a test"`)},
		"internal/btest/b.go":  {Data: []byte(`package btest; const x = "a test"`)},
		"testdata/x.go":        {Data: []byte(`no Go`)},
	})
	wantLogs := "\na\n\tINFO \"b was … seen\" b c\n\t… \"it ended\" b\n\ninternal/b\n\tWARN \"a b\"\n"
	wantTexts := "\na\n\t\"Show the b.\"\n\t\"first line\\n\"\n\t\t\"second line\\n\"\n\t\"no c\"\n\t\"read %q: %w\"\n\t\"two words\"\n"
	if got := listing(all, true); got != wantLogs {
		t.Errorf("got %q, want %q", got, wantLogs)
	}
	if got := listing(all, false); got != wantTexts {
		t.Errorf("got %q, want %q", got, wantTexts)
	}
}

// shippedMessages returns the messages of the code that is a part of a release.
func shippedMessages(t *testing.T, root fs.FS) (all []Message) {
	t.Helper()
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (skips(entry.Name()) || !ships(name)):
			return fs.SkipDir
		case path.Ext(name) != ".go" || leftOut[name] != "":
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		found, err := Messages(name, src)
		all = append(all, found...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func ships(dir string) bool {
	return !strings.HasSuffix(dir, "test") && !slices.Contains([]string{"bench", "docs", "examples", "internal/prose", "tools"}, dir)
}

// listing returns the log records, or the other messages, below the name of
// their package. They are sorted, so that a move of code changes nothing.
func listing(all []Message, log bool) string {
	texts := map[string][]string{}
	for _, m := range all {
		if m.Log == log {
			texts[m.Place] = append(texts[m.Place], m.Text)
		}
	}
	var b strings.Builder
	for _, place := range slices.Sorted(maps.Keys(texts)) {
		b.WriteString("\n" + place + "\n")
		for _, text := range slices.Compact(slices.Sorted(slices.Values(texts[place]))) {
			b.WriteString("\t" + text + "\n")
		}
	}
	return b.String()
}
