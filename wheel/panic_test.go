package wheel

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"
)

const crashChild = "WHEEL_CRASH_CHILD"

// Without OnPanic a panic ends the program, as with package time: it must not
// be lost.
func TestAPanicWithoutOnPanicEndsTheProgram(t *testing.T) {
	if run := os.Getenv(crashChild); run != "" {
		cfg := Config{}
		if run == "inline" {
			cfg.Run = Inline
		}
		New(cfg, func(int) { panic("unexpected") }).Add(0, 1)
		time.Sleep(time.Minute)
		return
	}
	for _, run := range []string{"go", "inline"} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestAPanicWithoutOnPanicEndsTheProgram$")
		child.Env = append(os.Environ(), crashChild+"="+run)
		out, err := child.CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte("panic: unexpected")) {
			t.Errorf("%s: %v\n%s", run, err, out)
		}
	}
}
