package pgstore

import (
	"context"
	"sync"

	"github.com/foliot/foliot/internal/store/sqltask"
)

// Writes of many calls at the same time are made together, because a transaction costs
// far more than a row. A write waits only while some are under way.
type together struct {
	mu      sync.Mutex // guards everything below
	waiting map[class][]*write
	flying  map[class]int // transactions under way
}

// write is a call that waits for its rows to be written.
type write struct {
	rows    []sqltask.Row
	endings []ending
	err     error
	done    chan struct{}
}

const (
	maxFlying = 2   // transactions of a class under way
	maxRows   = 200 // in a transaction, unless one call has more
)

// write writes rows, perhaps together with those of other calls, and returns the endings
// of those of steps.
func (m *medium) write(ctx context.Context, rows []sqltask.Row, c class) ([]ending, error) {
	if m.foreign || len(rows) >= maxRows {
		return m.writeNow(ctx, rows, c)
	}
	w := &write{rows: rows, done: make(chan struct{})}
	g := &m.together
	g.mu.Lock()
	g.waiting[c] = append(g.waiting[c], w)
	if g.flying[c] < maxFlying {
		g.flying[c]++
		m.working.Go(func() { m.fly(c) })
	}
	g.mu.Unlock()
	select {
	case <-w.done:
		return w.endings, w.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fly makes the writes of a class until none waits.
func (s *Store) fly(c class) {
	g := &s.together
	for {
		g.mu.Lock()
		list := g.waiting[c]
		n, rows := 0, []sqltask.Row(nil)
		for n < len(list) && (n == 0 || len(rows)+len(list[n].rows) <= maxRows) {
			base := int32(len(rows))
			for _, r := range list[n].rows {
				if r.Parent > 0 {
					r.Parent += base
				}
				rows = append(rows, r)
			}
			n++
		}
		if g.waiting[c] = list[n:]; n == 0 {
			if delete(g.waiting, c); g.flying[c] == 1 {
				delete(g.flying, c)
			} else {
				g.flying[c]--
			}
		}
		g.mu.Unlock()
		if n == 0 {
			return
		}
		s.writeAll(list[:n], rows, c)
	}
}

// writeAll writes the rows of some calls. If that fails because of one of them, each is
// made alone.
func (s *Store) writeAll(list []*write, rows []sqltask.Row, c class) {
	endings, err := s.writeNow(context.Background(), rows, c)
	for _, w := range list {
		if w.err = err; err == nil {
			steps := 0
			for _, r := range w.rows {
				if r.Parent == 0 {
					steps++
				}
			}
			w.endings, endings = endings[:steps], endings[steps:]
		} else if len(list) > 1 && code(err) != "" {
			w.endings, w.err = s.writeNow(context.Background(), w.rows, c)
		}
		close(w.done)
	}
}
