package idle

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// probe asks the kernel about connections, one at a time: its owner guards it. It is one allocation for all questions: RawConn.Control
// wants a function, and what that needs stands here.
type probe struct {
	ask    func(fd uintptr)
	info   tcpInfo
	length uint32 // of what the kernel has written into info
	errno  syscall.Errno
}

// tcpInfo is struct tcp_info as far as it is read.
type tcpInfo struct {
	syscall.TCPInfo
	pacingRate, maxPacingRate, bytesAcked uint64
	bytesReceived                         uint64 // since Linux 4.1
}

func newProbe() *probe {
	p := new(probe)
	p.ask = p.getsockopt
	return p
}

// ages returns how long ago something came in, and how long ago something new went out. The kernel counts from tick to tick: what it
// tells may be a tick too much, 10 ms at the coarsest. It takes half a microsecond to one. It returns false if the connection is closed, or
// the kernel does not tell.
func (p *probe) ages(raw syscall.RawConn) (read, write time.Duration, ok bool) {
	p.length = 0
	if err := raw.Control(p.ask); err != nil || p.errno != 0 {
		return 0, 0, false
	}
	if uintptr(p.length) < unsafe.Offsetof(p.info.Last_ack_recv)+unsafe.Sizeof(p.info.Last_ack_recv) {
		return 0, 0, false
	}
	return milliseconds(p.info.Last_data_recv), milliseconds(sinceSent(&p.info.TCPInfo)), true
}

// heard tells, after ages, whether anything was received since the connection was made, or might have been: Linux before 4.1 does not
// tell. The age of the last byte says nothing of that: without one it is the connection's.
func (p *probe) heard() bool {
	return uintptr(p.length) < unsafe.Sizeof(p.info) || p.info.bytesReceived > 0
}

func (p *probe) getsockopt(fd uintptr) {
	p.length = uint32(unsafe.Sizeof(p.info))
	_, _, p.errno = syscall.Syscall6(sysGetsockopt, fd, syscall.SOL_TCP, syscall.TCP_INFO,
		uintptr(unsafe.Pointer(&p.info)), uintptr(unsafe.Pointer(&p.length)), 0)
	runtime.KeepAlive(p)
}

func milliseconds(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }

// sinceSent returns for how many milliseconds nothing new was sent, or a little less.
//
// Sending again what was not acknowledged counts as sending to the kernel, so that a peer that has vanished would look alive for a
// quarter of an hour. While it does so, the last acknowledgement tells how long nothing gets through. But that may be from long before
// what is being repeated was written: one packet lost after a minute's silence must not look like a minute's silence. The waits before
// each repetition double, so they came to RTO − RTO/2^repetitions at least, and the last repetition was Last_data_sent ago.
func sinceSent(i *syscall.TCPInfo) uint32 {
	if i.Retransmits == 0 {
		return i.Last_data_sent
	}
	rto := i.Rto / 1000 // of the next repetition; told in microseconds
	return min(i.Last_ack_recv, i.Last_data_sent+rto-rto>>i.Backoff)
}
