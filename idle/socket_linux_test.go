package idle

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/foliot/foliot/internal/fatal"
)

// tickAtMost is the largest error of an age from the kernel.
const tickAtMost = 10 * time.Millisecond

func socketOf(t testing.TB, c any) syscall.RawConn {
	t.Helper()
	raw, err := rawOf(c)
	fatal.If(t, err)
	return raw
}

func mustAges(t testing.TB, p *probe, raw syscall.RawConn) (read, write time.Duration) {
	t.Helper()
	read, write, ok := p.ages(raw)
	if !ok {
		t.Fatal("no ages")
	}
	return read, write
}

func TestTheKernelsStructIsLaidOutAsInItsHeader(t *testing.T) {
	var i tcpInfo
	for _, f := range []struct {
		name      string
		got, want uintptr
	}{
		{"tcpi_retransmits", unsafe.Offsetof(i.Retransmits), 2},
		{"tcpi_backoff", unsafe.Offsetof(i.Backoff), 4},
		{"tcpi_rto", unsafe.Offsetof(i.Rto), 8},
		{"tcpi_last_data_sent", unsafe.Offsetof(i.Last_data_sent), 44},
		{"tcpi_last_data_recv", unsafe.Offsetof(i.Last_data_recv), 52},
		{"tcpi_last_ack_recv", unsafe.Offsetof(i.Last_ack_recv), 56},
		{"tcpi_bytes_received", unsafe.Offsetof(i.bytesReceived), 128},
		{"tcpi_snd_wnd", unsafe.Offsetof(i.sndWnd), 228},
		{"the end", unsafe.Sizeof(i), 232},
	} {
		if f.got != f.want {
			t.Errorf("%s at %d, not %d", f.name, f.got, f.want)
		}
	}
}

func TestReadsAndWritesEachHaveTheirOwnAge(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	p, raw := newProbe(), socketOf(t, here)
	const old = 100 * time.Millisecond
	aged := func() bool {
		read, write := mustAges(t, p, raw)
		return read > old && write > old
	}
	exchange := func(from, to net.Conn) (began time.Time) {
		began = time.Now()
		fatal.If(t, errOf(from.Write([]byte("x"))))
		fatal.If(t, errOf(io.ReadFull(to, make([]byte, 1))))
		return began
	}

	await(t, "both ages grow", aged)
	began := exchange(there, here)
	read, write := mustAges(t, p, raw)
	if most := time.Since(began) + tickAtMost; read > most || write <= old {
		t.Errorf("after a read: read %v, at most %v; write %v", read, most, write)
	}

	await(t, "both ages grow", aged)
	began = exchange(here, there)
	read, write = mustAges(t, p, raw)
	if most := time.Since(began) + tickAtMost; write > most || read <= old {
		t.Errorf("after a write: write %v, at most %v; read %v", write, most, read)
	}
}

func TestAnEndOfStreamIsNotReceivedData(t *testing.T) {
	here, there := pair(t)
	p, raw := newProbe(), socketOf(t, here)
	const old = 100 * time.Millisecond
	await(t, "the read age grows", func() bool {
		read, _ := mustAges(t, p, raw)
		return read > old
	})
	there.CloseWrite()
	if _, err := here.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if read, _ := mustAges(t, p, raw); read <= old {
		t.Errorf("read age %v", read)
	}
}

// dropAll makes a socket drop all arriving packets before TCP sees them, as if
// the machine had vanished.
func dropAll(t testing.TB, c *net.TCPConn) (hearAgain func()) {
	t.Helper()
	raw, err := c.SyscallConn()
	fatal.If(t, err)
	do := func(f func(fd int) error) {
		var failed error
		if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
	}
	nothing := []syscall.SockFilter{{Code: syscall.BPF_RET | syscall.BPF_K, K: 0}}
	do(func(fd int) error { return syscall.AttachLsf(fd, nothing) }) //nolint:staticcheck // its successor is in golang.org/x
	return func() { do(syscall.DetachLsf) }                          //nolint:staticcheck // the same
}

func TestRetransmissionsToAVanishedPeerDoNotResetTheWriteAge(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	dropAll(t, there)
	p, raw := newProbe(), socketOf(t, here)
	began := time.Now()
	fatal.If(t, errOf(here.Write([]byte("is anybody there?"))))
	// The third retransmission comes after 0.2 + 0.4 + 0.8 s, or later.
	await(t, "the kernel repeats three times", func() bool {
		_, _, ok := p.ages(raw)
		return ok && p.info.Retransmits >= 3
	})
	_, write := mustAges(t, p, raw)
	if real := time.Since(began); write < real/2 || write > real+tickAtMost {
		t.Errorf("write age %v after %v; the kernel says %d ms", write, real, p.info.Last_data_sent)
	}
}

func TestALostPacketAfterASilenceDoesNotMakeTheWriteAgeOld(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	p, raw := newProbe(), socketOf(t, here)
	await(t, "a second of silence", func() bool {
		_, write := mustAges(t, p, raw)
		return write > time.Second
	})
	hearAgain := dropAll(t, there)
	began := time.Now()
	fatal.If(t, errOf(here.Write([]byte("x"))))
	await(t, "the kernel repeats", func() bool {
		_, _, ok := p.ages(raw)
		return ok && p.info.Retransmits > 0
	})
	_, write := mustAges(t, p, raw)
	if most := time.Since(began) + tickAtMost; write > most {
		t.Errorf("write age %v, at most %v; last ack %d ms ago", write, most, p.info.Last_ack_recv)
	}
	hearAgain()
	if _, err := io.ReadFull(there, make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

func TestSinceSent(t *testing.T) {
	for _, c := range []struct {
		name   string
		info   syscall.TCPInfo
		window uint32
		want   uint32
	}{
		{"all acknowledged", syscall.TCPInfo{Last_data_sent: 700, Last_ack_recv: 9000, Rto: 200_000}, 1, 700},
		{"first repetition", syscall.TCPInfo{Retransmits: 1, Backoff: 1, Rto: 400_000, Last_data_sent: 50, Last_ack_recv: 60_000}, 1, 50},
		{"fourth", syscall.TCPInfo{Retransmits: 4, Backoff: 4, Rto: 3_200_000, Last_data_sent: 1000}, 1, 3800},
		{"it talks", syscall.TCPInfo{Retransmits: 4, Backoff: 4, Rto: 3_200_000, Last_data_sent: 1000, Last_ack_recv: 5}, 1, 3800},
		{"a backoff left over", syscall.TCPInfo{Retransmits: 1, Backoff: 6, Rto: 12_800_000, Last_data_sent: 9, Last_ack_recv: 60_000}, 1, 9},
		{"retries that did not double", syscall.TCPInfo{Retransmits: 9, Backoff: 0, Rto: 200_000, Last_data_sent: 100}, 1, 100},
		{"no room", syscall.TCPInfo{Unacked: 1, Options: 7, Backoff: 5, Rto: 6_528_000, Last_data_sent: 804, Last_ack_recv: 3}, 0, 6924},
		{"no room, no timestamps", syscall.TCPInfo{Unacked: 1, Options: 6, Backoff: 6, Rto: 13_056_000, Last_data_sent: 72}, 0, 72},
		{"no room, all acknowledged", syscall.TCPInfo{Options: 7, Backoff: 5, Rto: 208_000, Last_data_sent: 7244}, 0, 7244},
		{"room again", syscall.TCPInfo{Unacked: 1, Options: 7, Backoff: 5, Rto: 6_528_000, Last_data_sent: 3360}, 4096, 3360},
		{"the longest wait", syscall.TCPInfo{Retransmits: 14, Backoff: 14, Rto: 120_000_000, Last_data_sent: 90_000}, 1, 209_986},
		{"many of them", syscall.TCPInfo{Unacked: 1, Options: 7, Backoff: 30, Rtt: 200_000, Rto: 120_000_000}, 0, 204_400 + 20*120_000},
	} {
		p := newProbe()
		p.info.TCPInfo, p.info.sndWnd, p.length = c.info, c.window, uint32(unsafe.Sizeof(p.info))
		if got := sinceSent(&p.info, p.repeated()); got != c.want {
			t.Errorf("%s: %d ms, not %d", c.name, got, c.want)
		}
	}
}

func TestAPeerThatSendsButHasNoRoomLetsTheWriteAgeGrow(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	fatal.If(t, there.SetReadBuffer(2048))
	var running sync.WaitGroup
	running.Go(func() {
		for err := error(nil); err == nil; _, err = here.Write(make([]byte, 1<<16)) {
		}
	})
	running.Go(func() {
		for err := error(nil); err == nil; _, err = there.Write([]byte("x")) {
			time.Sleep(50 * time.Millisecond)
		}
	})
	p, raw := newProbe(), socketOf(t, here)
	await(t, "the write age is 1.5 s and the kernel repeats", func() bool {
		_, write := mustAges(t, p, raw)
		return write > 1500*time.Millisecond && p.info.Last_data_sent < 300
	})
	here.Close()
	there.Close()
	running.Wait()
}

func TestAShortReplyOfTheKernelIsRefused(t *testing.T) {
	here, _ := pair(t)
	p := newProbe()
	p.ask = func(uintptr) { p.length, p.errno = 59, 0 }
	if _, _, ok := p.ages(socketOf(t, here)); ok {
		t.Error("ages out of 59 bytes")
	}
	p.ask = func(uintptr) { p.length, p.errno = 104, syscall.ENOPROTOOPT }
	if _, _, ok := p.ages(socketOf(t, here)); ok {
		t.Error("ages out of an error")
	}
}

// Two readings of a growing age give slightly different times.
func TestAConnectionThatIsIdleInTheKernelIsEvicted(t *testing.T) {
	for range 20 {
		g := New(Config{AllIdle: Never, Resolution: time.Millisecond, Activity: Kernel}, func(*net.TCPConn, Reason) Verdict { return Close() })
		began := g.clock.now.Load()
		for range 10 {
			here, _ := pair(t)
			track(t, g, here, new(Entry))
		}
		await(t, "time passes", func() bool { return g.clock.now.Load() > began+20 })
		if n := g.EvictIdlest(10); n != 10 {
			t.Errorf("%d were chosen", n)
		}
		await(t, "all are looked at", func() bool { return g.Stats().Queued == 0 })
		if stats := g.Stats(); stats.Asked.Of(Evicted) != 10 {
			t.Fatalf("%d were asked about", stats.Asked.Of(Evicted))
		}
	}
}

// One of two connections sends something at once and then waits; the other is
// silent, and only that one must be closed. In the first case the program does
// not touch. In the second case the bytes go through a splice that is still
// under way.
func TestReceivedBytesEndTheHandshakeWithoutATouch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		cfg   Config
		watch func(t *testing.T, g *Group[net.Conn], c net.Conn)
	}{
		{"kernel source", Config{Handshake: 200 * time.Millisecond, Activity: Kernel}, func(t *testing.T, g *Group[net.Conn], c net.Conn) {
			fatal.If(t, g.Track(c, new(Entry)))
		}},
		{"splice", Config{Handshake: 200 * time.Millisecond}, func(t *testing.T, g *Group[net.Conn], c net.Conn) {
			w := NewConn(c, g)
			var copying sync.WaitGroup
			copying.Go(func() { _, _ = io.Copy(w, w) })
			t.Cleanup(func() { _ = w.Close(); copying.Wait() })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 10)
			g := New(c.cfg, func(c net.Conn, why Reason) Verdict {
				asked <- c.RemoteAddr().String() + " " + why.String()
				return Close()
			})
			here, talker := pair(t)
			c.watch(t, g, here)
			_, _ = talker.Write([]byte("hello"))
			here, mute := pair(t)
			c.watch(t, g, here)
			if got, want := <-asked, mute.LocalAddr().String()+" handshake"; got != want {
				t.Errorf("asked about %s, not %s", got, want)
			}
			await(t, "the mute one is closed", func() bool { return g.Len() == 1 })
			g.EvictIdlest(1)
			if got, want := <-asked, talker.LocalAddr().String()+" evicted"; got != want {
				t.Errorf("then asked about %s, not %s", got, want)
			}
		})
	}
}

func BenchmarkAges(b *testing.B) {
	here, _ := pair(b)
	p, raw := newProbe(), socketOf(b, here)
	b.ReportAllocs()
	for b.Loop() {
		p.ages(raw)
	}
}
