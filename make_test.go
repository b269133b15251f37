package foliot

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// TestMakeBuildSharesItsCacheWithGoRun: with a flag that changes how packages
// are compiled, such as -trimpath, Go would compile every dependency again.
func TestMakeBuildSharesItsCacheWithGoRun(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	out, err := exec.CommandContext(t.Context(), "make", "-n", "build", "GO=go").Output()
	fatal.If(t, err)
	builds := 0
	for line := range strings.Lines(string(out)) {
		flags, isBuild := strings.CutPrefix(line, "go build ")
		if !isBuild {
			continue
		}
		builds++
		if words := strings.Fields(flags); !slices.Equal(words, []string{"-v", "-o", "bin/foliot", "./cmd/foliot"}) {
			t.Errorf("make build runs go build with %q: -v shows the progress, and no other flag is allowed", words)
		}
	}
	if builds != 1 {
		t.Errorf("make build runs go build %d times:\n%s", builds, out)
	}
}

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
