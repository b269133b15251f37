package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// startFoliot runs `foliot serve`, built from this tree, on loopback and
// without tokens until the test ends. It returns the URL.
func startFoliot(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "foliot")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "./cmd/foliot")
	build.Dir = filepath.Join("..", "..") // from examples/NAME: the main module, with the sources of the binary
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build foliot: %v\n%s", err, out)
	}
	cmd := exec.Command(binary, "serve", "-o", "json", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"))
	cmd.Env = []string{} // no settings from the environment
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // an error means that it has ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("foliot serve ended: %v", err)
		}
	})
	var says struct{ URL string }
	if err := json.NewDecoder(stdout).Decode(&says); err != nil {
		t.Fatalf("foliot serve does not print its address: %v", err)
	}
	return says.URL
}
