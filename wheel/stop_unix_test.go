//go:build unix

package wheel

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
)

const stoppedChild = "WHEEL_STOPPED_CHILD"

// A debugger, a freezer or an overloaded machine stops a process. When it goes
// on, the timers that came due meanwhile fire once, and no timer fires early.
func TestAStoppedProcessFiresItsLateTimersOnce(t *testing.T) {
	const n, span = 400, 600 * time.Millisecond
	if os.Getenv(stoppedChild) != "" {
		r := newRealTime(n, 10*time.Millisecond)
		for v := range n {
			r.add(v, span*time.Duration(v)/n)
		}
		fmt.Println("set")
		r.judge(t)
		return
	}
	quick.Leave(t, "stops a process")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), stoppedChild+"=1")
	out, err := child.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, child.Start())
	lines := bufio.NewReader(out)
	for line := ""; line != "set\n"; {
		line, err = lines.ReadString('\n')
		fatal.If(t, err)
	}
	fatal.If(t, child.Process.Signal(syscall.SIGSTOP))
	<-time.After(span / 2) // the length of the stop: half of the timers are due in it
	fatal.If(t, child.Process.Signal(syscall.SIGCONT))
	rest, err := io.ReadAll(lines)
	fatal.If(t, err)
	if err := child.Wait(); err != nil {
		t.Errorf("%v\n%s", err, rest)
	}
	t.Logf("%s", rest)
}
