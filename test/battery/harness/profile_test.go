package harness

import (
	"os/exec"
	"path/filepath"
	"testing"
)

func TestTheProfilerFitsIntoTheServer(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the server")
	}
	dir := t.TempDir()
	list, err := overlay(dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-overlay", list, "-o", filepath.Join(dir, "foliot"), serverPackage)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
