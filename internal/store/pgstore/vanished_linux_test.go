package pgstore

import (
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"
)

// A server that vanishes without a word, as a virtual machine does in a failover, holds no
// statement for longer than five seconds.
func TestConnectionsEndWhenTheHostVanishes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	config, err := pgx.ParseConfig("postgres://127.0.0.1/foliot")
	if err != nil {
		t.Fatal(err)
	}
	noticeVanished(config)
	c, err := config.DialFunc(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		for option, want := range map[int]int{unix.TCP_USER_TIMEOUT: 5000, unix.TCP_KEEPIDLE: 3, unix.TCP_KEEPINTVL: 1, unix.TCP_KEEPCNT: 3} {
			if got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option); err != nil || got != want {
				t.Errorf("the option %d of TCP is %d, error %v, want %d", option, got, err, want)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
}
