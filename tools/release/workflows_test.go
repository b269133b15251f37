package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rhysd/actionlint"
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
