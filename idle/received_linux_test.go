package idle

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// One of two connections sends something at once and then waits; the other is
// silent, and only that one must be closed. In the first case the program does
// not touch. In the second case the bytes go through a splice that is still
// under way.
func TestReceivedBytesEndTheHandshakeWithoutATouch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		cfg   Config
		watch func(t *testing.T, g *Group[net.Conn], c net.Conn)
	}{
		{"kernel source", Config{Handshake: 200 * time.Millisecond, Activity: Kernel}, func(t *testing.T, g *Group[net.Conn], c net.Conn) {
			fatal.If(t, g.Track(c, new(Entry)))
		}},
		{"splice", Config{Handshake: 200 * time.Millisecond}, func(t *testing.T, g *Group[net.Conn], c net.Conn) {
			w := NewConn(c, g)
			var copying sync.WaitGroup
			copying.Go(func() { _, _ = io.Copy(w, w) })
			t.Cleanup(func() { _ = w.Close(); copying.Wait() })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 10)
			g := New(c.cfg, func(c net.Conn, why Reason) Verdict {
				asked <- c.RemoteAddr().String() + " " + why.String()
				return Close
			})
			here, talker := pair(t)
			c.watch(t, g, here)
			_, _ = talker.Write([]byte("hello"))
			here, mute := pair(t)
			c.watch(t, g, here)
			if got, want := <-asked, mute.LocalAddr().String()+" handshake"; got != want {
				t.Errorf("asked about %s, not %s", got, want)
			}
			await(t, "the mute one is closed", func() bool { return g.Len() == 1 })
			g.EvictIdlest(1)
			if got, want := <-asked, talker.LocalAddr().String()+" evicted"; got != want {
				t.Errorf("then asked about %s, not %s", got, want)
			}
		})
	}
}
