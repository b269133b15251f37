package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// hang: one host accepts and never answers, another one answers. The baseline
// is measured in the same run, on the same server, before the host hangs.
func hang(ctx context.Context, t *trial) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	defer st.close()
	pit, err := openPit()
	if err != nil {
		return err
	}
	defer pit.close()

	const hanging, perSecond, phase = 10_000, 200, 10 * time.Second
	healthy := func(prefix string) ([]string, error) {
		start := dueIn(3 * time.Second)
		return st.schedule(ctx, perSecond*int(phase/time.Second), prefix, func(i int) time.Time {
			return start.Add(time.Duration(i) * time.Second / perSecond).Truncate(time.Millisecond)
		})
	}
	before, err := healthy("before")
	if err != nil {
		return err
	}
	st.receiver.awaitAll(ctx, before, phase+10*time.Second)

	stuck := make([]wire.TaskInput, hanging)
	soon := dueIn(time.Second)
	for i := range stuck {
		stuck[i] = input(fmt.Sprintf("stuck-%d", i), pit.url(), soon)
		stuck[i].Timeout = "5s" // slots are given back and taken by the next ones while it is measured
	}
	if err := st.client.createAll(ctx, stuck); err != nil {
		return err
	}
	beside, err := healthy("beside")
	if err != nil {
		return err
	}
	st.receiver.awaitAll(ctx, beside, phase+20*time.Second)
	if err := st.server.stop(10 * time.Second); err != nil {
		return err
	}
	v, err := st.judge()
	if err != nil {
		return err
	}
	t.must(v.Duplicates == 0, "duplicates %d", v.Duplicates)
	t.must(pit.seen() > 0, "requests that hung %d", pit.seen())
	alone, crowded, err := st.latenessByPhase(before, beside)
	if err != nil {
		return err
	}
	shift := t.lateness("beside the hanging host", crowded) - t.lateness("alone", alone)
	t.must(shift <= 50*time.Millisecond, "p99 shifts by %s, at most 50 ms", ms(shift))
	return nil
}

// latenessByPhase splits the lateness by which tasks it is of.
func (st *stage) latenessByPhase(before, beside []string) (alone, crowded []time.Duration, err error) {
	e, err := st.evidence()
	if err != nil {
		return nil, nil, err
	}
	of := func(names []string) []time.Duration {
		chosen := map[string]bool{}
		for _, n := range names {
			chosen[n] = true
		}
		part := evidence{Arrived: e.Arrived}
		for _, a := range e.Accepted {
			if chosen[a.Name] {
				part.Accepted = append(part.Accepted, a)
			}
		}
		return check(part).Late
	}
	return of(before), of(beside), nil
}

// pit is a host that accepts connections, reads, and never answers. close ends
// its goroutines and waits for them.
type pit struct {
	listener net.Listener
	group    sync.WaitGroup

	mu    sync.Mutex // guards everything below
	conns []net.Conn
}

func openPit() (*pit, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &pit{listener: l}
	p.group.Go(p.accept)
	return p, nil
}

func (p *pit) url() string { return "http://" + p.listener.Addr().String() + "/" }

func (p *pit) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.mu.Lock()
		p.conns = append(p.conns, conn)
		p.mu.Unlock()
		p.group.Go(func() {
			_, _ = io.Copy(io.Discard, conn) // until one side has enough
			conn.Close()
		})
	}
}

// seen returns how many connections came.
func (p *pit) seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

func (p *pit) close() {
	p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.group.Wait()
}
