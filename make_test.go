package foliot

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// namedTests matches the tests and the package that a line of the Makefile runs.
var namedTests = regexp.MustCompile(`-run '\^(\(?Test[^'$]*)(\$*)' .*?(\./\S+)`)

// TestTheMakefileRunsExistingTests: go test reports no error if a pattern
// matches no test.
func TestTheMakefileRunsExistingTests(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	fatal.If(t, err)
	runs := namedTests.FindAllStringSubmatch(string(text), -1)
	if len(runs) < 5 {
		t.Errorf("the Makefile names the tests of %d runs", len(runs))
	}
	for _, run := range runs {
		files, err := filepath.Glob(filepath.Join(run[3], "*_test.go"))
		fatal.If(t, err)
		var code []byte
		for _, name := range files {
			source, err := os.ReadFile(name)
			fatal.If(t, err)
			code = append(code, source...)
		}
		for pattern := range strings.SplitSeq(strings.Trim(run[1], "()"), "|") {
			if run[2] != "" {
				pattern += `\(`
			}
			if !regexp.MustCompile(`(?m)^func ` + pattern).Match(code) {
				t.Errorf("%s has no test %s", run[3], pattern)
			}
		}
	}
}
