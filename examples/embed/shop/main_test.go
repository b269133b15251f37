package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestTheShopStartsTwiceOnItsDirectory(t *testing.T) {
	place := t.TempDir()
	binary := filepath.Join(place, "shop")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for range 2 {
		cmd := exec.CommandContext(t.Context(), binary)
		var out bytes.Buffer
		cmd.Dir, cmd.Stderr = place, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) { // between two looks
			if _, err := os.Stat(filepath.Join(place, "timers", "FOLIOT")); err == nil {
				break
			}
		}
		time.Sleep(200 * time.Millisecond) // of running
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
}
