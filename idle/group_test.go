package idle

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/foliot/foliot/internal/fatal"
)

// conn is a virtual connection: it can only be touched and closed.
type conn struct {
	Entry
	closed chan struct{}
}

func newConn() *conn { return &conn{closed: make(chan struct{})} }

func (c *conn) Close() error {
	close(c.closed) // a second close would panic
	return nil
}

func (c *conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

func closing(*conn, Reason) Verdict { return Close() }

// errOf returns the error of a call, and ignores its result.
func errOf[T any](_ T, err error) error { return err }

func track[C any](t testing.TB, g *Group[C], c C, e *Entry) {
	t.Helper()
	fatal.If(t, g.Track(c, e))
}

// trackNew returns a new connection of the group.
func trackNew(t testing.TB, g *Group[*conn]) *conn {
	t.Helper()
	c := newConn()
	track(t, g, c, &c.Entry)
	return c
}

func TestTrackReturnsTheReasonOfARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, other := New(Config{AllIdle: Never}, closing), New(Config{AllIdle: Never}, closing)
		c := trackNew(t, g)
		for _, again := range []*Group[*conn]{g, other} {
			if err := again.Track(c, &c.Entry); !errors.Is(err, ErrTracked) {
				t.Errorf("tracked twice: %v", err)
			}
		}
		if other.Untrack(&c.Entry) {
			t.Error("untracked by another group")
		}
		if !g.Untrack(&c.Entry) || g.Untrack(&c.Entry) {
			t.Error("untracked not once")
		}
		track(t, other, c, &c.Entry)
		other.Close()
		if err := other.Track(c, &c.Entry); !errors.Is(err, ErrClosed) {
			t.Errorf("tracked by a closed group: %v", err)
		}
		track(t, g, c, &c.Entry)
		if err := g.Drain(context.Background(), 0); err != nil {
			t.Error(err)
		}
		if err := g.Track(c, &c.Entry); !errors.Is(err, ErrClosed) {
			t.Errorf("tracked after a drain: %v", err)
		}
	})
}
