package guard

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// The program measures the effect of guards on talking and hostile peers. This
// test only shows that each guard works.
func TestEachGuardClosesTheSilentOneAndNotBefore(t *testing.T) {
	for i := range All {
		info := &All[i]
		if info.Name == None {
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			t.Parallel()
			const timeout = 300 * time.Millisecond
			g, err := Open(info.Name, timeout)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			c := accept(t, g)
			start := time.Now()
			c.Reading()
			_, err = c.Read(make([]byte, 1))
			if took := time.Since(start); took < timeout-20*time.Millisecond { // it was accepted slightly before
				t.Errorf("closed after %v", took)
			}
			if !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			g.Leave(c)
		})
	}
}

// accept returns the server's side of a connection with a silent peer, and
// closes both at the end.
func accept(t *testing.T, g Guard) Conn {
	t.Helper()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	peer, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { peer.Close() })
	raw, err := g.Listen(l).Accept()
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Watch(raw)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
