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
	files string // patterns
	all   bool   // the files must show each block of Go in the page
}{
	{"../../docs/idle.md", "*.go", true},
	{"../../docs/embedding.md", "../embed/*/*.go ../../example*_test.go ../../postgres/example*_test.go", true},
	{"../../docs/postgres.md", "../embed/*/*.go ../../example*_test.go ../../postgres/example*_test.go", true},
	{"../../docs/recipes.md", "../embed/*/*.go ../../example*_test.go ../../postgres/example*_test.go", false},
	{"../../README.md", "../embed/*/*.go ../../example*_test.go ../../postgres/example*_test.go", false},
}

// shown is a block of Go in a page, below the line with its name.
var shown = regexp.MustCompile("(?s)<!-- ([a-z]+) -->\n```go\n(.*?)```\n")

func TestThePagesShowTheCodeThatIsTested(t *testing.T) {
	unused := map[string]bool{} // names, with their pattern of files
	for _, d := range documents {
		for name := range snippets(t, d.files) {
			unused[d.files+" "+name] = true
		}
	}
	for _, d := range documents {
		before, err := os.ReadFile(d.page)
		if err != nil {
			t.Fatal(err)
		}
		code := snippets(t, d.files)
		after := shown.ReplaceAllFunc(before, func(block []byte) []byte {
			name := string(shown.FindSubmatch(block)[1])
			text, ok := code[name]
			if !ok {
				t.Errorf("%s: no file shows %q, or the page shows it twice", d.page, name)
			}
			delete(code, name)
			delete(unused, d.files+" "+name)
			return fmt.Appendf(nil, "<!-- %s -->\n```go\n%s```\n", name, text)
		})
		if n, all := len(shown.FindAll(after, -1)), bytes.Count(after, []byte("```go")); d.all && n != all {
			t.Errorf("%s: %d of %d blocks of Go are not compiled", d.page, all-n, all)
		}
		if bytes.Equal(before, after) {
			continue
		}
		if os.Getenv("UPDATE_GOLDEN") == "" {
			t.Fatalf("%s and the files show different code; run with UPDATE_GOLDEN=1 to rewrite it", d.page)
		}
		if err := os.WriteFile(d.page, after, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name := range unused {
		t.Errorf("no page shows %s", name)
	}
}

// region is code between two lines of a file.
var region = regexp.MustCompile(`(?s)(?:^|\n)//doc:show ([a-z]+)\n(.*?)\n//doc:end\n`)

// snippets returns the code that files show, by name.
func snippets(t *testing.T, patterns string) map[string]string {
	t.Helper()
	var files []string
	for pattern := range strings.FieldsSeq(patterns) {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	code := map[string]string{}
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
	return code
}
