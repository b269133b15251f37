package usage

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestTheTimeOfAChildThatEndedCounts(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc")
	}
	before := Process(os.Getpid())
	work := exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
	if err := work.Run(); err != nil {
		t.Fatal(err)
	}
	used := work.ProcessState.UserTime() + work.ProcessState.SystemTime()
	if got := Process(os.Getpid()) - before; got < used-2*tick || got > used+time.Second {
		t.Errorf("it counts %v, the child used %v", got, used)
	}
	if Process(0) != 0 {
		t.Error("no process has a time")
	}
}
