package idle

import (
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// pair returns the two ends of a TCP connection over loopback. Both are closed
// when the test ends.
func pair(t testing.TB) (here, there *net.TCPConn) {
	t.Helper()
	return pairOf(t, false, false, nil)
}

// pairOf is pair with Multipath TCP at either end. control may be nil, or sets
// options of the listening socket.
func pairOf(t testing.TB, listens, dials bool, control func(_, _ string, c syscall.RawConn) error) (here, there *net.TCPConn) {
	t.Helper()
	config := net.ListenConfig{Control: control}
	config.SetMultipathTCP(listens)
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal.If(t, err)
	defer l.Close()
	var d net.Dialer
	d.SetMultipathTCP(dials)
	dialed, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	fatal.If(t, err)
	t.Cleanup(func() { dialed.Close() })
	accepted, err := l.Accept()
	fatal.If(t, err)
	t.Cleanup(func() { accepted.Close() })
	return accepted.(*net.TCPConn), dialed.(*net.TCPConn)
}

// await polls for a condition outside the process, which fake time cannot wait
// for.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("a minute and not yet: %s", what)
		}
	}
}

func onLinux(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("asks the kernel, which only Linux answers")
	}
}

type onTop struct{ net.Conn }

func (c onTop) NetConn() net.Conn { return c.Conn }

type circle struct{ net.Conn }

func (c circle) NetConn() net.Conn { return c }

func TestTheSocketIsFoundBelowOtherConnections(t *testing.T) {
	onLinux(t)
	c, _ := pair(t)
	type embeds struct {
		*net.TCPConn
		Entry
	}
	for name, c := range map[string]any{
		"TCP":           c,
		"TLS":           tls.Server(c, &tls.Config{}),
		"TLS on others": tls.Server(onTop{onTop{c}}, &tls.Config{}),
		"embedded":      &embeds{TCPConn: c},
	} {
		raw, err := rawOf(c)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, _, ok := newProbe().ages(raw); !ok {
			t.Errorf("%s: no ages", name)
		}
	}
}

func TestAConnectionUnknownToTheKernelIsRefusedWithAdvice(t *testing.T) {
	piped, other := net.Pipe()
	defer piped.Close()
	defer other.Close()
	local := unixConn(t)
	defer local.Close()
	for name, c := range map[string]any{
		"pipe": piped, "TLS on a pipe": tls.Server(piped, &tls.Config{}), "unix": local, "circle": circle{piped}, "nothing": nil, "number": 7,
	} {
		if _, err := rawOf(c); err == nil || !strings.Contains(err.Error(), "Activity Touch") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMultipathTCPIsRecognised(t *testing.T) {
	onLinux(t)
	c, _ := pairOf(t, true, true, nil)
	if several, err := c.MultipathTCP(); err != nil || !several {
		t.Skip("this kernel does not speak Multipath TCP")
	}
	if _, err := rawOf(c); !errors.Is(err, errMultipath) {
		t.Errorf("error %v", err)
	}
}

// Go's listeners offer Multipath TCP, but most clients use plain TCP.
func TestPlainTCPOnAMultipathListenerIsPlain(t *testing.T) {
	onLinux(t)
	c, _ := pairOf(t, true, false, nil)
	if _, err := rawOf(c); err != nil {
		t.Error(err)
	}
}

func TestAClosedConnectionHasNoAges(t *testing.T) {
	onLinux(t)
	c, _ := pair(t)
	raw, err := rawOf(c)
	fatal.If(t, err)
	c.Close()
	if _, _, ok := newProbe().ages(raw); ok {
		t.Error("it has")
	}
	if _, err := rawOf(c); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v", err)
	}
}
