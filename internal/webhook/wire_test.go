package webhook

import (
	"errors"
	"net"
	"testing"
)

// slowToClose is a connection whose Close waits, as that of package net waits for
// the goroutine that reads.
type slowToClose struct {
	net.Conn
	may, closed chan struct{}
}

func (c *slowToClose) Close() error {
	<-c.may
	close(c.closed)
	return nil
}

// TestACloseDoesNotHoldUpThePool: net/http calls Close under the lock that every
// attempt needs.
func TestACloseDoesNotHoldUpThePool(t *testing.T) {
	inner := &slowToClose{may: make(chan struct{}), closed: make(chan struct{})}
	w := &wire{Conn: inner}
	returned := make(chan struct{})
	go func() { _ = w.Close(); close(returned) }()
	select {
	case <-returned:
	case <-t.Context().Done(): // the test's timeout, if Close waits
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a Write after the Close: %v", err)
	}
	if err := w.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
	close(inner.may)
	<-inner.closed
}
