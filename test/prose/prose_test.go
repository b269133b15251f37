package prose

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const root = "../.."

// most is the highest figure of a package or page: dialect words per 1,000 words.
const most = 3.0

//go:embed dialect.txt
var dialectList string

// dialect matches the words and phrases of the list. better has the words to use
// in their place.
var dialect, better = parseDialect(dialectList)

// word matches a word of a text, with an apostrophe in it.
var word = regexp.MustCompile(`\p{L}+(?:['’]\p{L}+)*`)

func parseDialect(list string) (*regexp.Regexp, map[string]string) {
	better := map[string]string{}
	var phrases []string
	for line := range strings.Lines(list) {
		left, right, is := strings.Cut(line, "=")
		if !is || strings.HasPrefix(line, "#") {
			continue
		}
		for p := range strings.SplitSeq(left, ",") {
			phrase := strings.Join(strings.Fields(p), " ")
			better[phrase] = strings.TrimSpace(right)
			phrases = append(phrases, strings.ReplaceAll(phrase, " ", `\s+`))
		}
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(phrases, "|") + `)\b`), better
}

// hit is a dialect word or phrase in a text.
type hit struct {
	offset int // in bytes
	word   string
}

func count(body string) (hits []hit) {
	for _, at := range dialect.FindAllStringIndex(body, -1) {
		hits = append(hits, hit{at[0], strings.Join(strings.Fields(strings.ToLower(body[at[0]:at[1]])), " ")})
	}
	return hits
}

func (x text) lineOf(h hit) string {
	return strconv.Itoa(x.line + strings.Count(x.body[:h.offset], "\n"))
}

// check returns a sentence for each kind of text in a place that has too many
// hits, with the hits.
func check(texts []text) (wrong []string) {
	words, found := map[string]int{}, map[string][]string{}
	for _, x := range texts {
		key := x.place + ": " + x.kind
		words[key] += len(word.FindAllStringIndex(x.body, -1))
		for _, h := range count(x.body) {
			found[key] = append(found[key], fmt.Sprintf("%s:%s: %q: better: %s", x.file, x.lineOf(h), h.word, better[h.word]))
		}
	}
	for key, hits := range found {
		if rate := 1000 * float64(len(hits)) / float64(max(1, words[key])); rate > most {
			wrong = append(wrong, fmt.Sprintf("%s: %.1f dialect words per 1,000, allowed are %.1f:\n\t%s", key, rate, most, strings.Join(hits, "\n\t")))
		}
	}
	slices.Sort(wrong)
	return wrong
}

func TestProseIsPlainEnglish(t *testing.T) {
	for _, wrong := range check(read(t, os.DirFS(root))) {
		t.Error(wrong)
	}
}

func fstestFile(name, src string) fs.FS { return fstest.MapFS{name: {Data: []byte(src)}} }

// TestAPlaceAboveTheLimitIsNamed, for each kind of text. A tree has testdata and
// directories that begin with a dot, which are not measured.
func TestAPlaceAboveTheLimitIsNamed(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	got := check(read(t, fstest.MapFS{
		"README.md":             file("What is this"),
		"plain.md":              file(strings.Repeat("a plain word ", 500) + "what whose told"),
		"internal/a/x.go":       file("package a /* who */\nvar x = \"told %s\"\n"),
		"internal/a/x_test.go":  file("package a /* somebody */\n"),
		"internal/a/run.lua":    file("-- nobody\n"),
		"internal/a/testdata/x": file("what"),
		"testdata/x.md":         file("what"),
		".cache/x.go":           file("package broken {"),
		"a/node_modules/x.md":   file("what"),
	}))
	want := []string{
		`README.md: page: 333.3 dialect words per 1,000, allowed are 3.0: | README.md:1: "what": better: name the thing ("the shards that …"), or "which"`,
		`internal/a: comments: 1000.0 dialect words per 1,000, allowed are 3.0: | internal/a/run.lua:1: "nobody": better: "no caller", "no node", or the passive | internal/a/x.go:1: "who": better: name the node, caller or user ("a caller that …") | internal/a/x_test.go:1: "somebody": better: "a caller", "a node", "another user"`,
		`internal/a: strings: 500.0 dialect words per 1,000, allowed are 3.0: | internal/a/x.go:2: "told": better: "called with", "notified of" or "passed"`,
	}
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], "\n\t", " | ")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTheDialectIsCounted(t *testing.T) {
	for text, want := range map[string]string{
		"Queues without limits have no share.":                                  "",
		"A queue without limits has none, and where nobody shares nothing has.": "nobody",
		"What others hold is told to whoever asks.":                             "what, told, whoever",
		"shards of\nwhich others are owners":                                    "of which",
		"a list of, which is odd":                                               "",
		"one of whom, and whom we call":                                         "of whom, whom",
		"the token is to be kept, where none is":                                "is to be, where none",
		"where there is a place":                                                "",
		"It tells us; it cannot tell.":                                          "tells",
		"somewhat whatever, unbeside":                                           "whatever",
		"what's this, 'what' is it, what’s up":                                  "what, what, what",
		"NOBODY Knows, who_is":                                                  "nobody",
	} {
		var found []string
		for _, h := range count(text) {
			if found = append(found, h.word); better[h.word] == "" {
				t.Errorf("%q: no better word for %q", text, h.word)
			}
		}
		if got := strings.Join(found, ", "); got != want {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
}
