package prose

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/foliot/foliot/internal/fatal"
)

const root = "../.."

// With -v it prints the figure of each kind of text.
func TestProseIsPlainEnglish(t *testing.T) {
	texts, err := Read(os.DirFS(root))
	fatal.If(t, err)
	for _, wrong := range Check(Measure(texts)) {
		t.Error(wrong)
	}
	for i := range texts {
		texts[i].Place = "total"
	}
	for key, f := range Measure(texts) {
		t.Logf("%s: %.1f dialect words per 1,000 in %d", key.Kind, f.Rate(), f.Words)
	}
}

// TestAPlaceAboveTheLimitIsNamed, for each kind of text. A tree has testdata and
// directories that begin with a dot, which are not measured.
func TestAPlaceAboveTheLimitIsNamed(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	texts, err := Read(fstest.MapFS{
		"README.md":             file("What is this"),
		"plain.md":              file(strings.Repeat("a plain word ", 500) + "what whose told"),
		"internal/a/x.go":       file("package a /* who */\nvar x = \"told %s\"\n"),
		"internal/a/x_test.go":  file("package a /* somebody */\n"),
		"internal/a/run.lua":    file("-- nobody\n"),
		"internal/a/testdata/x": file("what"),
		"testdata/x.md":         file("what"),
		".cache/x.go":           file("package broken {"),
		"a/node_modules/x.md":   file("what"),
	})
	fatal.If(t, err)
	var got []string
	for _, wrong := range Check(Measure(texts)) {
		place, findings, _ := strings.Cut(wrong, ": ")
		kind, _, _ := strings.Cut(findings, ":")
		got = append(got, strings.Join([]string{place, kind, strings.Split(wrong, "\n\t")[1]}, " "))
	}
	want := []string{
		`README.md page README.md:1: "what": better: name the thing ("the shards that …"), or "which"`,
		`internal/a comments internal/a/run.lua:1: "nobody": better: "no caller", "no node", or the passive`,
		`internal/a strings internal/a/x.go:2: "told": better: "called with", "notified of" or "passed"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
