package redistest

import (
	_ "embed"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
)

//go:embed testdata/clock.c
var clockSource []byte

// Clock is the wall clock of servers that were started with it.
type Clock struct {
	testing.TB
	file string
	env  []string
}

// NewClock returns a clock that shows the right time. It skips the test if
// there is no C compiler: the clock is a library that is loaded into
// redis-server.
func NewClock(t testing.TB) *Clock {
	t.Helper()
	quick.Leave(t, "moves the clock of a server")
	Need(t)
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler: install one (Debian: apt-get install gcc) and run this again")
	}
	dir := t.TempDir()
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	fatal.If(t, os.WriteFile(source, clockSource, 0o600))
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl").CombinedOutput(); err != nil { //nolint:gosec // the test's own source
		t.Skipf("%s makes no library of the clock: %v\n%s", compiler, err, out)
	}
	c := &Clock{TB: t, file: filepath.Join(dir, "ahead")}
	c.env = append(os.Environ(), "LD_PRELOAD="+library, "FOLIOT_TEST_CLOCK="+c.file)
	c.Set(0)
	return c
}

// Set sets how far the clock is ahead of the right time. A negative value sets
// it behind.
func (c *Clock) Set(ahead time.Duration) {
	c.Helper()
	f, err := os.OpenFile(c.file, os.O_CREATE|os.O_WRONLY, 0o600) // in place: the servers have mapped it
	fatal.If(c, err)
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(ahead.Milliseconds())), 0) //nolint:gosec // two's complement
	fatal.If(c, f.Close())
	fatal.If(c, err)
}

// New is New for a server that uses the clock.
func (c *Clock) New(args ...string) *Server {
	c.Helper()
	s, err := start(c.TempDir(), c.env, args...)
	return s.until(c, err)
}

// NewSentinels is NewSentinels with replicas that use the clock. The first
// master shows the right time.
func (c *Clock) NewSentinels(args ...string) *Sentinels {
	c.Helper()
	return newSentinels(c, c.env, args)
}
