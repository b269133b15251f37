package foliot

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestMakeBuildSharesItsCacheWithGoRun: a flag that changes how packages are compiled, such as
// -trimpath, would compile every dependency a second time.
func TestMakeBuildSharesItsCacheWithGoRun(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	out, err := exec.CommandContext(t.Context(), "make", "-n", "build", "GO=go").Output()
	if err != nil {
		t.Fatal(err)
	}
	builds := 0
	for line := range strings.Lines(string(out)) {
		flags, isBuild := strings.CutPrefix(line, "go build ")
		if !isBuild {
			continue
		}
		builds++
		if words := strings.Fields(flags); !slices.Equal(words, []string{"-v", "-o", "bin/foliot", "./cmd/foliot"}) {
			t.Errorf("make build runs go build with %q: -v shows that it works, and nothing else may stand there", words)
		}
	}
	if builds != 1 {
		t.Errorf("make build runs go build %d times:\n%s", builds, out)
	}
}
