package snippets

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents are the pages that show code of the examples.
var documents = []struct {
	page  string
	files []string // patterns
	all   bool     // the page has all code that the files show, and no other
}{
	{"../../docs/idle.md", []string{"*.go"}, true},
	{"../../docs/embedding.md", []string{"../embed/*/*.go"}, true},
	{"../../README.md", []string{"../embed/*/*.go"}, false},
}

// shown is a block of Go in a page, below the line with its name.
var shown = regexp.MustCompile("(?s)<!-- ([a-z]+) -->\n```go\n(.*?)```\n")

func TestThePagesShowTheCodeThatIsTested(t *testing.T) {
	for _, d := range documents {
		t.Run(filepath.Base(d.page), func(t *testing.T) {
			before, err := os.ReadFile(d.page)
			if err != nil {
				t.Fatal(err)
			}
			code := snippets(t, d.files)
			after := shown.ReplaceAllFunc(before, func(block []byte) []byte {
				name := string(shown.FindSubmatch(block)[1])
				text, ok := code[name]
				if !ok {
					t.Errorf("no file shows %q", name)
				}
				delete(code, name)
				return fmt.Appendf(nil, "<!-- %s -->\n```go\n%s```\n", name, text)
			})
			if d.all {
				for name := range code {
					t.Errorf("the page does not show %q, or twice", name)
				}
				if n, all := len(shown.FindAll(after, -1)), bytes.Count(after, []byte("```go")); n != all {
					t.Errorf("%d of %d blocks of Go are not compiled", all-n, all)
				}
			}
			if bytes.Equal(before, after) {
				return
			}
			if os.Getenv("UPDATE_GOLDEN") == "" {
				t.Fatal("the page and the files show different code; run with UPDATE_GOLDEN=1 to rewrite it")
			}
			if err := os.WriteFile(d.page, after, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// region is code between two lines of a file.
var region = regexp.MustCompile(`(?s)(?:^|\n)//doc:show ([a-z]+)\n(.*?)\n//doc:end\n`)

// snippets returns the code that files show, by name.
func snippets(t *testing.T, patterns []string) map[string]string {
	t.Helper()
	code := map[string]string{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range region.FindAllStringSubmatch(string(text), -1) {
				if code[m[1]] != "" {
					t.Errorf("two files show %q", m[1])
				}
				code[m[1]] = strings.TrimSpace(m[2]) + "\n"
			}
		}
	}
	return code
}
