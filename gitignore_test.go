package foliot

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// written matches the files that commands of the pages write into the present
// directory.
var written = regexp.MustCompile(`(?:>|-out|-keyout|\bexport|\bbackup) *([A-Za-z0-9][\w-]*\.[a-z]+)(?:\s|\)|$)`)

// A reader runs the commands in a clone, and then commits with git add.
func TestGitIgnoresTheSecretsThatThePagesCreateInAClone(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	fatal.If(t, err)
	files := map[string]string{}
	for _, page := range append(pages, "README.md", "deploy/helm/foliot/README.md") {
		text, err := os.ReadFile(page)
		fatal.If(t, err)
		for i, block := range strings.Split(string(text), "```") {
			if i%2 == 0 || !strings.HasPrefix(block, "sh") && !strings.HasPrefix(block, "\n") {
				continue
			}
			for _, m := range written.FindAllStringSubmatch(block, -1) {
				files[m[1]] = page
			}
		}
	}
	if files["operator.token"] == "" || files["key.pem"] == "" || files["tasks.ndjson"] == "" {
		t.Fatalf("the pages create only %v", files)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--show-prefix").Output(); err != nil || strings.TrimSpace(string(out)) != "" {
		t.Skip("this is no clone of the repository, or there is no git")
	}
	for file, page := range files {
		if err := exec.CommandContext(t.Context(), "git", "check-ignore", "--quiet", "--no-index", file).Run(); err != nil {
			t.Errorf("%s creates %s, and .gitignore does not have it: %v", page, file, err)
		}
	}
}
