package system

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"
)

func TestTheSystemTellsWhoHoldsASocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is asked of Linux alone")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	from, to := netip.MustParseAddrPort(conn.LocalAddr().String()), netip.MustParseAddrPort(l.Addr().String())
	if ours, err := HoldsSocket(os.Getpid(), from, to); !ours || err != nil {
		t.Errorf("this process does not hold it: %v", err)
	}
	if its, err := HoldsSocket(os.Getppid(), from, to); its || err != nil {
		t.Errorf("the parent holds it: %v, %v", its, err)
	}
	if _, err := HoldsSocket(os.Getpid(), netip.AddrPortFrom(from.Addr(), 1), to); err == nil {
		t.Error("a socket was found where there is none")
	}
}
