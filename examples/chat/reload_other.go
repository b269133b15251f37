//go:build !unix

package main

import (
	"errors"
	"net"
)

func takeOver() (l net.Listener, ready func() error, err error) {
	return nil, func() error { return nil }, nil
}

func handOn(net.Listener) error {
	return errors.New("only on Unix can a process pass its listener to another process")
}
