package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// The bounds of a connection that stays silent or dawdles.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 60 * time.Second
	replyTimeout  = bodyTimeout + 60*time.Second // both count from the headers
	idleTimeout   = 2 * time.Minute
	drainTimeout  = 5 * time.Second // for replies under way when a server stops
)

// listenAddr completes an address: "9000" and ":9000" are on loopback.
func listenAddr(flag, addr string) (string, error) {
	if _, err := strconv.ParseUint(addr, 10, 16); err == nil {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", badInput(flag, "%q is no host:port, such as 127.0.0.1:8750", addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", badInput(flag, "%q has no port between 0 and 65535", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// listenError says why an address cannot be listened on.
func listenError(flag, addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return &fault{exitFailure, fmt.Errorf("%s: %s is in use by another process; stop that one, or choose another port", flag, addr)}
	case errors.Is(err, syscall.EACCES):
		return &fault{exitFailure, fmt.Errorf("%s: %s may not be used by this user; choose a port above 1023", flag, addr)}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return &fault{exitFailure, fmt.Errorf("%s: %s is no address of this machine", flag, addr)}
	}
	return fmt.Errorf("%s: listen on %s: %w", flag, addr, withoutOp(err))
}

// withoutOp drops net's own "listen tcp addr:" from an error.
func withoutOp(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// serveUntil serves l until ctx ends, then lets the replies under way end.
func serveUntil(ctx context.Context, srv *http.Server, l net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := srv.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close() // they had their time
	}
	return errors.Join(err, served(<-failed))
}

// served is what a server that was shut down has to say: nothing, mostly.
func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
