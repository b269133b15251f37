package webhook

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// slowToClose is a connection with a Close that waits, as the Close of package
// net waits for the goroutine that reads.
type slowToClose struct {
	net.Conn
	may, closed chan struct{}
}

func (c *slowToClose) Close() error {
	<-c.may
	close(c.closed)
	return nil
}

// net/http calls Close under the lock that every attempt needs.
func TestASlowCloseDoesNotBlockThePool(t *testing.T) {
	inner := &slowToClose{may: make(chan struct{}), closed: make(chan struct{})}
	w := &leaseConn{Conn: inner}
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

// The last alert of TLS waits until there is room for it, and a receiver that
// reads nothing never makes room. net/http closes idle connections under the
// lock that every attempt needs.
func TestATLSAlertDoesNotBlockThePool(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // no request comes
	server.StartTLS()
	t.Cleanup(server.Close)
	s := newSender(t, Config{})
	trust(s, server)
	dialled, err := s.dialer.dialTLS(t.Context(), "tcp", server.Listener.Addr().String(), s.tlsConfig("127.0.0.1:443"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := dialled.(tlsConn); !ok {
		t.Errorf("a connection to a receiver is a %T", dialled)
	}
	_ = dialled.Close()

	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe() // a write waits for its reader
		receiver := tls.Server(there, server.TLS)
		shaken := make(chan error, 1)
		go func() { shaken <- receiver.Handshake() }()
		conn := tlsConn{tls.Client(&leaseConn{Conn: here}, s.tlsConfig("127.0.0.1:443"))}
		if err := errors.Join(conn.Handshake(), <-shaken); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := conn.Close(); err != nil || time.Since(began) != 0 {
			t.Errorf("Close took %v: %v", time.Since(began), err)
		}
		time.Sleep(alertTimeout)
		synctest.Wait()
		_ = there.SetReadDeadline(time.Now()) // a closed connection reports EOF, not a timeout
		if _, err := there.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the connection is not closed after %v: %v", alertTimeout, err)
		}
	})
}
