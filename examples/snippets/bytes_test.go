package snippets

import (
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/foliot/foliot/idle"
)

// The bytes of a connection in docs/idle.md, compared with an unwatched one.
// They include entries and wrappers.
func TestBytesOfAConnection(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the kernel can be asked on Linux alone")
	}
	if testing.Short() {
		t.Skip("it takes 8192 descriptors")
	}
	all := connections(t, 4096)
	silence := idle.Config{AllIdle: time.Hour}
	handshake := idle.Config{AllIdle: time.Hour, Handshake: time.Hour}
	kernel := idle.Config{AllIdle: time.Hour, Activity: idle.Kernel}
	for _, row := range []struct {
		name  string
		most  float64
		watch func() (all any, close func())
	}{
		{"a pointer", 105, func() (any, func()) { return trackAll(t, silence, pointers(all)) }},
		{"a net.Conn", 115, func() (any, func()) { return trackAll(t, silence, all) }},
		{"a net.Conn, Handshake", 120, func() (any, func()) { return trackAll(t, handshake, all) }},
		{"a net.Conn, Kernel", 145, func() (any, func()) { return trackAll(t, kernel, all) }},
		{"Wrap", 210, func() (any, func()) { return wrapAll(silence, all) }},
		{"HTTP", 250, func() (any, func()) { return serveAll(silence, all) }},
	} {
		before := heapInUse()
		watched, end := row.watch()
		took := float64(heapInUse()-before) / float64(len(all))
		runtime.KeepAlive(watched)
		end()
		t.Logf("%-24s %4.0f bytes", row.name, took)
		if took > row.most {
			t.Errorf("%s: a connection takes %.0f bytes", row.name, took)
		}
	}
	runtime.KeepAlive(all)
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // the second one completes the sweep of the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func connections(t *testing.T, n int) []net.Conn {
	t.Helper()
	l, err := listenPlain(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	all := make([]net.Conn, n)
	for i := range all {
		all[i], _ = connect(t, l)
	}
	return all
}

func pointers(all []net.Conn) []*net.TCPConn {
	p := make([]*net.TCPConn, len(all))
	for i, c := range all {
		p[i] = c.(*net.TCPConn)
	}
	return p
}

func keepAll[C any](C, idle.Reason) idle.Verdict { return idle.Keep() }

func trackAll[C any](t *testing.T, config idle.Config, all []C) (any, func()) {
	g := idle.New(config, keepAll[C])
	entries := make([]idle.Entry, len(all)) // as if each was embedded in a connection of the program
	for i, c := range all {
		if err := g.Track(c, &entries[i]); err != nil {
			t.Fatal(err)
		}
	}
	return entries, g.Close
}

func wrapAll(config idle.Config, all []net.Conn) (any, func()) {
	g := idle.New(config, keepAll[net.Conn])
	for _, c := range all {
		idle.NewConn(c, g) // the group holds it
	}
	return g, g.Close
}

func serveAll(config idle.Config, all []net.Conn) (any, func()) {
	g, s := idle.New(config, keepAll[net.Conn]), new(http.Server)
	idle.WatchServer(s, g)
	for _, c := range all {
		s.ConnState(c, http.StateNew)
	}
	return []any{g, s}, g.Close
}
