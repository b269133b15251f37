package idle

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// probe reads the kernel's data about connections, one at a time, and its owner
// guards it. It is a single allocation for all readings: RawConn.Control needs
// a function, and the data of that function are here.
type probe struct {
	ask    func(fd uintptr)
	info   tcpInfo
	length uint32 // bytes that the kernel wrote into info
	errno  syscall.Errno
}

// tcpInfo is the part of struct tcp_info that is used.
type tcpInfo struct {
	syscall.TCPInfo
	pacingRate, maxPacingRate, bytesAcked uint64
	bytesReceived                         uint64 // since Linux 4.1
	_                                     [92]byte
	sndWnd                                uint32 // since Linux 5.4
}

// timestamps is the bit in Options that means that the peers send timestamps,
// so each new acknowledgement reduces Backoff.
const timestamps = 1

func newProbe() *probe {
	p := new(probe)
	p.ask = p.getsockopt
	return p
}

// ages returns the times since the last bytes came in and since new bytes last
// went out. The kernel counts in ticks, so an age may be a tick too high: 10 ms
// at most. ages takes half a microsecond to one, and returns false if the
// connection is closed, or if the kernel has no such data.
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

// received reports, after ages, whether anything was received since the
// connection was made. On Linux before 4.1, which cannot report this, it
// returns true. The age of the last byte does not show it: before the first
// byte, it is the age of the connection.
func (p *probe) received() bool {
	return uintptr(p.length) < unsafe.Offsetof(p.info.bytesReceived)+8 || p.info.bytesReceived > 0
}

// repeated returns the number of consecutive retransmissions, each after twice
// the wait of the one before.
//
// Retransmits has this number, and any new acknowledgement resets it. If the
// peer sends no timestamps, Backoff is not reset: it may be left from an
// earlier loss. A peer without room that got more than it has room for makes
// the kernel retransmit as well, without end, for example if its receive buffer
// was made smaller. Only Backoff counts those, so it is trusted there if
// timestamps are sent.
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

// sinceSent returns the milliseconds since new bytes were last sent, or
// slightly less.
//
// The kernel counts a retransmission as sending. So a peer that has vanished
// would look alive for a quarter of an hour, and one that stopped reading would
// look alive forever. But after the first retransmission nothing new is sent
// until a new acknowledgement.
//
// The result is the sum of the waits between retransmissions and
// Last_data_sent, the time since the last one. The waits double, so they add up
// to at least RTO - RTO/2^(repetitions-1). The wait before the first does not
// count, because it starts when the oldest byte under way was sent, and much
// may have been acknowledged or sent after that. The last acknowledgement shows
// nothing: it may be older than all bytes under way, and a peer that talks
// still acknowledges. If the RTO has reached its limit, the waits are added up
// from the round trip time, which is shorter than the first wait.
func sinceSent(i *tcpInfo, repeated uint8) uint32 {
	if repeated == 0 {
		return i.Last_data_sent
	}
	rto := i.Rto / 1000 // of the next retransmission; the kernel has microseconds
	counted, wait := uint32(0), max(i.Rtt/1000, 1)
	for range repeated - 1 {
		wait = min(2*wait, rto)
		counted += wait
	}
	return i.Last_data_sent + max(rto-rto>>(repeated-1), counted)
}
