// Package idle measures package idle and other ways to close idle connections.
package idle

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/load"
	"github.com/foliot/foliot/bench/idle/server"
	"github.com/foliot/foliot/bench/idle/verdict"
	"github.com/foliot/foliot/bench/metric"
)

// TestMain lets the test binary run as the processes of the load.
func TestMain(m *testing.M) {
	child.Main(map[string]any{"server": new(server.Server), "client": new(client.Client)})
	os.Exit(m.Run())
}

// BenchmarkSockets loads each guard with many connections.
func BenchmarkSockets(b *testing.B) {
	shape, err := load.Quick(1000), error(nil)
	if !metric.Quick() {
		shape, err = load.Full()
	}
	if err != nil {
		b.Fatal(err)
	}
	for i := range guard.All {
		name := guard.All[i].Name
		b.Run(name, func(b *testing.B) {
			fmt.Printf("connections: %d\nbound: %s\ntimeout: %v\nwindow: %v\n", shape.Connections, shape.Bound, shape.Timeout, shape.Window)
			v, err := load.Run(b.Context(), name, &shape)
			metric.Report(b, v, err)
		})
	}
}

// BenchmarkUse measures the cost that a guard adds to a read and a write. For a
// guard that works inside of them, it cannot be separated.
func BenchmarkUse(b *testing.B) {
	for i := range guard.All {
		info := &guard.All[i]
		if info.Inside {
			continue
		}
		b.Run(info.Name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			g, err := guard.Open(info.Name, time.Minute)
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			c := connect(b, g)
			defer g.Leave(c)
			for b.Loop() {
				c.Reading()
				c.Heard(false)
				c.Writing()
				c.Wrote()
			}
		})
	}
}

// connect returns the server's side of a connection.
func connect(b *testing.B, g guard.Guard) guard.Conn {
	b.Helper()
	l, err := guard.Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	peer, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { peer.Close() })
	accepted, err := g.Listen(l).Accept()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { accepted.Close() })
	c, err := g.Watch(accepted)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// All guards, with processes, sockets and a frozen client.
func TestAllGuardsUnderLoad(t *testing.T) {
	shape := load.Quick(60)
	var group sync.WaitGroup
	for i := range guard.All {
		group.Go(func() {
			v, err := load.Run(t.Context(), guard.All[i].Name, &shape)
			if err != nil {
				t.Errorf("%s failed: %v", guard.All[i].Name, err)
				return
			}
			check(t, &guard.All[i], &shape, v)
		})
	}
	group.Wait()
}

func check(t *testing.T, info *guard.Info, shape *load.Shape, v metric.Values) {
	judged := 0.0
	for _, name := range verdict.Names {
		judged += v[name]
	}
	if judged != float64(shape.Connections) {
		t.Errorf("%s: %v of %d connections were judged", info.Name, judged, shape.Connections)
	}
	of := func(x verdict.Verdict) float64 { return v[verdict.Names[x]] }
	closed := of(verdict.OnTime) + of(verdict.Late)
	if info.Name == guard.None {
		if closed > 0 {
			t.Errorf("%v were closed without timeouts", closed)
		}
		return
	}
	if closed == 0 && v[load.Stalls] == 0 {
		t.Errorf("%s closed nothing", info.Name)
	}
	// On a busy machine, a deadline of other guards may pass before the data
	// that came is read.
	if n := of(verdict.Wrong); info.Ours && n > 0 {
		t.Errorf("%s closed %v wrongly", info.Name, n)
	}
	if n := of(verdict.Never); info.Ours && n > 0 && v[load.Stalls] == 0 {
		t.Errorf("%s never closed %v", info.Name, n)
	}
}

func TestAGuardThatFailsIsNamed(t *testing.T) {
	shape := load.Quick(60)
	if _, err := load.Run(t.Context(), "unknown", &shape); err == nil {
		t.Error("no error")
	}
}
