package system

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"syscall"
)

// HoldsSocket reports whether a process has the TCP socket that is connected
// from one IPv4 address to another.
func HoldsSocket(pid int, from, to netip.AddrPort) (bool, error) {
	inode, err := socketInode(from, to)
	if err != nil {
		return false, fmt.Errorf("ask for the socket from %v to %v: %w", from, to, err)
	}
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("ask for the sockets of process %d: %w", pid, err)
	}
	want := "socket:[" + strconv.FormatUint(uint64(inode), 10) + "]"
	for _, f := range files {
		if target, err := os.Readlink(dir + f.Name()); err == nil && target == want {
			return true, nil
		}
	}
	return false, nil
}

// The kernel's interface for one socket (sock_diag(7)): a header, and an
// inet_diag_req_v2 or, in the reply, an inet_diag_msg. /proc/net/tcp lists all
// sockets, but its reader misses some while others open and close.
const (
	netlinkSockDiag = 4
	sockDiagFamily  = 20
	requestSize     = 16 + 56
	inodeAt         = 16 + 68
)

func socketInode(from, to netip.AddrPort) (uint32, error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, netlinkSockDiag)
	if err != nil {
		return 0, err
	}
	defer func() { _ = syscall.Close(fd) }()
	if err := syscall.Sendto(fd, socketRequest(from, to), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return 0, err
	}
	reply := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(fd, reply, 0)
	if err != nil {
		return 0, err
	}
	if n < inodeAt+4 || binary.NativeEndian.Uint16(reply[4:]) != sockDiagFamily {
		return 0, errors.New("there is none")
	}
	return binary.NativeEndian.Uint32(reply[inodeAt:]), nil
}

func socketRequest(from, to netip.AddrPort) []byte {
	b := make([]byte, 0, requestSize)
	b = binary.NativeEndian.AppendUint32(b, requestSize)
	b = binary.NativeEndian.AppendUint16(b, sockDiagFamily)
	b = binary.NativeEndian.AppendUint16(b, syscall.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // sequence, port
	b = append(b, syscall.AF_INET, syscall.IPPROTO_TCP, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, ^uint32(0)) // in any state
	b = binary.BigEndian.AppendUint16(b, from.Port())
	b = binary.BigEndian.AppendUint16(b, to.Port())
	for _, addr := range []netip.Addr{from.Addr(), to.Addr()} {
		octets := addr.As4()
		b = append(append(b, octets[:]...), make([]byte, 12)...)
	}
	b = append(b, 0, 0, 0, 0)                                // any interface
	return append(b, 255, 255, 255, 255, 255, 255, 255, 255) // no cookie
}
