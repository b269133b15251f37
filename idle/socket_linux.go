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
	_                                     [92]byte
	sndWnd                                uint32 // since Linux 5.4
}

// timestamps is the bit in Options that the peers send them: then each new acknowledgement takes Backoff back.
const timestamps = 1

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
	return milliseconds(p.info.Last_data_recv), milliseconds(sinceSent(&p.info, p.repeated())), true
}

// heard tells, after ages, whether anything was received since the connection was made, or might have been: Linux before 4.1 does not
// tell. The age of the last byte says nothing of that: without one it is the connection's.
func (p *probe) received() bool {
	return uintptr(p.length) < unsafe.Offsetof(p.info.bytesReceived)+8 || p.info.bytesReceived > 0
}

// repeated returns how many times in a row the kernel has repeated what was sent, each after twice the wait of the one before.
//
// Retransmits says so, and is reset by whatever is acknowledged anew. Backoff is not, where the peer sends no timestamps: it may
// be left over from an earlier loss. A peer that has no room but got more than it has room for (its receive buffer was made
// smaller) has the kernel repeat as well, without an end, and Backoff alone counts that. There it is believed with timestamps.
func (p *probe) repeated() uint8 {
	i := &p.info
	closedWindow := uintptr(p.length) >= unsafe.Sizeof(p.info) && i.sndWnd == 0
	if i.Retransmits == 0 && i.Unacked > 0 && closedWindow && i.Options&timestamps != 0 {
		return i.Backoff
	}
	return min(i.Retransmits, i.Backoff)
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
// quarter of an hour, and one that reads no more, for ever. But from the first repetition on nothing new is sent until something is
// acknowledged anew. The waits before the others double, so they came to RTO - RTO/2^(repetitions-1) at least, and the last was
// Last_data_sent ago. The wait before the first does not count: it runs from when the oldest of what is under way was sent, after which
// much may have been acknowledged or sent. The last acknowledgement says nothing: it may be older than all that is under way, and a peer
// that talks goes on acknowledging. Where the RTO has come to its limit the waits are counted up from the round trip, which is shorter
// than the first.
func sinceSent(i *tcpInfo, repeated uint8) uint32 {
	if repeated == 0 {
		return i.Last_data_sent
	}
	rto := i.Rto / 1000 // of the next repetition; told in microseconds
	counted, wait := uint32(0), max(i.Rtt/1000, 1)
	for range repeated - 1 {
		wait = min(2*wait, rto)
		counted += wait
	}
	return i.Last_data_sent + max(rto-rto>>(repeated-1), counted)
}
