package prose

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// TestCountFindsTheDialect: sentences and the dialect in them.
func TestCountFindsTheDialect(t *testing.T) {
	for _, c := range []struct {
		text  string
		words int
		found string
	}{
		{"", 0, ""},
		{"Queues without limits have no share.", 6, ""},
		{"A queue without limits has none, and where nobody shares nothing has.", 12, "nobody"},
		{"What others hold is told to whoever asks.", 8, "what, told, whoever"},
		{"shards of which others are owners", 6, "of which"},
		{"shards of\nwhich others are owners", 6, "of which"},
		{"a list of, which is odd", 6, ""},
		{"one of whom, and whom we call", 7, "of whom, whom"},
		{"the token is to be kept", 6, "is to be"},
		{"where there is a place", 5, ""},
		{"where none is", 3, "where none"},
		{"It tells us; it cannot tell.", 6, "tells"},
		{"somewhat whatever, unbeside", 3, "whatever"},
		{"what's this, 'what' is it, what’s up", 7, "what, what, what"},
		{"NOBODY Knows", 2, "nobody"},
		{"who_is 7who", 3, "who, who"},
	} {
		words, hits := Count(c.text)
		var found []string
		for _, h := range hits {
			found = append(found, h.Word)
			if h.Better == "" {
				t.Errorf("%q: no better word for %q", c.text, h.Word)
			}
			if first, _, _ := strings.Cut(h.Word, " "); !strings.HasPrefix(strings.ToLower(c.text[h.Offset:]), first) {
				t.Errorf("%q: %q does not stand at %d", c.text, h.Word, h.Offset)
			}
		}
		if got := strings.Join(found, ", "); got != c.found || words != c.words {
			t.Errorf("%q: %d words with %q, want %d with %q", c.text, words, got, c.words, c.found)
		}
	}
}

// found is "line word" for each hit in the texts, after the kind.
func found(texts []Text) []string {
	var all []string
	for _, f := range texts {
		_, hits := Count(f.Body)
		for _, h := range hits {
			all = append(all, strings.Join([]string{string(f.Kind), lineOf(f, h), h.Word}, " "))
		}
	}
	return all
}

func lineOf(f Text, h Hit) string {
	return string(rune('0'+f.line(h.Offset)/10)) + string(rune('0'+f.line(h.Offset)%10))
}

//go:embed testdata/gofile.txt
var goFile []byte

//go:embed testdata/page.txt
var page []byte

func TestGoFindsCommentsAndMessages(t *testing.T) {
	want := []string{
		"comments 01 what", "comments 03 of which", "comments 06 whom", "comments 09 whose", "comments 18 anew", "comments 19 likewise",
		"strings 08 who", "strings 09 told", "strings 13 what", "strings 13 of which", "strings 15 what", "strings 16 nobody",
	}
	texts, err := Go("a/x.go", goFile)
	fatal.If(t, err)
	if got := found(texts); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	inTest, err := Go("a/x_test.go", goFile)
	fatal.If(t, err)
	if got := found(inTest); !slices.Equal(got, want[:6]) {
		t.Errorf("a test's strings are not for users: got %q, want %q", got, want[:6])
	}
	if texts[0].Place != "a" {
		t.Errorf("place %q, want the directory", texts[0].Place)
	}
}

func TestMarkdownLeavesOutCode(t *testing.T) {
	want := []string{"page 01 what", "page 02 told", "page 02 of which", "page 03 nobody", "page 04 whose", "page 11 who", "page 13 tells", "page 18 anew"}
	texts := Markdown("docs/x.md", page)
	if got := found(texts); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if texts[0].Place != "docs/x.md" {
		t.Errorf("place %q, want the page", texts[0].Place)
	}
}

func TestOtherFilesHaveCommentsAndCaptions(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"s/x.lua", "local what = 1 -- who\n-- told\nwhat--;\n", []string{"comments 01 who", "comments 02 told"}},
		{"Makefile", "what: # whose\n", []string{"comments 01 whose"}},
		{"s/x.svg", "# what", nil},
		{"docs/x.yaml", "summary: what\ndescription: \"{{ $who }} is told\"\n", []string{"strings 02 told"}},
		{"docs/x.json", "  \"title\": \"Who is late?\",\n  \"expr\": \"what is\"\n", []string{"strings 01 who"}},
	} {
		got := found(append(Lines(c.name, []byte(c.text)), Captions(c.name, []byte(c.text))...))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
