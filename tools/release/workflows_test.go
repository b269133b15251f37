package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"go.yaml.in/yaml/v3"
)

func TestTheWorkflowsAreValid(t *testing.T) {
	linter, err := actionlint.NewLinter(os.Stdout, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(repository + "/.github/workflows/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	wrong, err := linter.LintFiles(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range wrong {
		t.Error(e)
	}
}

// pinned matches an action that cannot change.
var pinned = regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)

// A job that can sign or publish must run no code of the repository or of
// packages that it downloads, and no step may hide the failure of a command
// before a pipe.
func TestJobsWithRightsRunOnlyPinnedActions(t *testing.T) {
	text, err := os.ReadFile(repository + "/.github/workflows/release.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var release struct {
		Jobs map[string]struct {
			Permissions map[string]string
			Steps       []struct{ Run, Uses string }
		}
	}
	if err := yaml.Unmarshal(text, &release); err != nil {
		t.Fatal(err)
	}
	rights := 0
	for name, job := range release.Jobs {
		hasRights := len(job.Permissions) > 0
		if hasRights {
			rights++
		}
		for _, step := range job.Steps {
			if strings.Contains(step.Run, " | ") {
				t.Errorf("%s: the shell ignores the first command's failure: %s", name, step.Run)
			}
			if step.Uses != "" && !pinned.MatchString(step.Uses) {
				t.Errorf("%s uses %s, which can change: name the digest of its commit", name, step.Uses)
			}
			if hasRights && (strings.HasPrefix(step.Uses, "actions/checkout@") || strings.Contains(step.Run, "npm ") || strings.Contains(step.Run, "pip ")) {
				t.Errorf("%s can sign or publish, and takes foreign code: %+v", name, step)
			}
		}
	}
	if rights != 3 {
		t.Errorf("%d jobs can sign", rights)
	}
}
