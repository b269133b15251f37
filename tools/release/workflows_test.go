package main

import (
	"os"
	"path/filepath"
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

// A job that can sign or publish must not run code of packages that it
// downloads, and no step may hide the failure of a command before a pipe.
func TestJobsWithRightsRunNoForeignCode(t *testing.T) {
	text, err := os.ReadFile(repository + "/.github/workflows/release.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var release struct {
		Jobs map[string]struct {
			Permissions map[string]string
			Steps       []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal(text, &release); err != nil {
		t.Fatal(err)
	}
	rights := 0
	for name, job := range release.Jobs {
		if job.Permissions["id-token"] != "" {
			rights++
		}
		for _, step := range job.Steps {
			if strings.Contains(step.Run, " | ") {
				t.Errorf("%s: the shell ignores the first command's failure: %s", name, step.Run)
			}
			for _, tool := range []string{"npm ", "pip ", "make release", "make clients"} {
				if job.Permissions["id-token"] != "" && strings.Contains(step.Run, tool) {
					t.Errorf("%s can sign, and runs %s", name, step.Run)
				}
			}
		}
	}
	if rights != 3 {
		t.Errorf("%d jobs can sign", rights)
	}
}
