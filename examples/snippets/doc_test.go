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

const document = "../../docs/idle.md"

// shown is a block of Go in the document, below the line with its name.
var shown = regexp.MustCompile("(?s)<!-- ([a-z]+) -->\n```go\n(.*?)```\n")

func TestTheDocumentShowsTheCodeThatIsTested(t *testing.T) {
	before, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	code := snippets(t)
	after := shown.ReplaceAllFunc(before, func(block []byte) []byte {
		name := string(shown.FindSubmatch(block)[1])
		text, ok := code[name]
		if !ok {
			t.Errorf("no file shows %q", name)
		}
		delete(code, name)
		return fmt.Appendf(nil, "<!-- %s -->\n```go\n%s```\n", name, text)
	})
	for name := range code {
		t.Errorf("the document does not show %q, or twice", name)
	}
	if n, all := len(shown.FindAll(after, -1)), bytes.Count(after, []byte("```go")); n != all {
		t.Errorf("%d of %d blocks of Go are not compiled", all-n, all)
	}
	if bytes.Equal(before, after) {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatal("the document and the files show different code; run with UPDATE_GOLDEN=1 to rewrite it")
	}
	if err := os.WriteFile(document, after, 0o644); err != nil {
		t.Fatal(err)
	}
}

// snippets returns the code that the files of this folder show, by name.
func snippets(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	region := regexp.MustCompile(`(?s)\n//doc:show ([a-z]+)\n(.*?)\n//doc:end\n`)
	code := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range region.FindAllStringSubmatch(string(text), -1) {
			code[m[1]] = strings.TrimSpace(m[2]) + "\n"
		}
	}
	return code
}
