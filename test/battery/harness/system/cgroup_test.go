package system

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

func TestAMemoryGroupHoldsAProcess(t *testing.T) {
	g, err := NewMemoryGroup(1 << 30)
	if err != nil {
		t.Skipf("this system lets no one make one: %v", err)
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	if g.Kills() != 0 {
		t.Errorf("it has killed %d", g.Kills())
	}
	if g.Close() == nil {
		t.Error("it was removed while a process is in it")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // "signal: killed"
	if err := g.Close(); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
