package sqltask

import (
	"context"
	"slices"
	"sync"
)

// Batches joins the writes of concurrent calls, because a transaction costs far more than
// a row. A write waits only while some of its class are under way. The goroutines end
// when no write waits.
type Batches[C comparable, E any] struct {
	// Write makes a transaction, and returns the endings of rows without a parent. It returns
	// when ctx ends, but ends no transaction.
	Write func(ctx context.Context, rows []Row, class C) ([]E, error)
	Undid func(error) bool // the error of a transaction can be that of one of its writes
	Alone func(C) C        // the class of a write that is repeated alone
	Go    func(func())     // starts a goroutine

	mu      sync.Mutex // guards everything below
	waiting map[C][]*write[E]
	flying  map[C]int // transactions under way
}

// write is a call that waits for its rows to be written.
type write[E any] struct {
	rows    []Row
	endings []E
	err     error
	done    chan struct{}
}

// MaxRows is the largest number of rows of a transaction, unless one call has more.
const MaxRows = 200

const maxFlying = 2 // transactions of a class under way

// Do writes rows, perhaps together with those of other calls of the same class. If ctx ends,
// rows that wait for others are not written, and those under way still are.
func (b *Batches[C, E]) Do(ctx context.Context, rows []Row, class C) ([]E, error) {
	if len(rows) >= MaxRows {
		return b.Write(ctx, rows, class)
	}
	w := &write[E]{rows: rows, done: make(chan struct{})}
	b.mu.Lock()
	if b.waiting == nil {
		b.waiting, b.flying = map[C][]*write[E]{}, map[C]int{}
	}
	if b.waiting[class] = append(b.waiting[class], w); b.flying[class] < maxFlying {
		b.flying[class]++
		b.Go(func() { b.fly(class) })
	}
	b.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		if list := b.waiting[class]; len(list) > 0 { // else it is under way
			b.waiting[class] = slices.DeleteFunc(list, func(other *write[E]) bool { return other == w })
		}
		select {
		case <-w.done: // before, or at the same time
		default:
			return nil, ctx.Err()
		}
	}
	return w.endings, w.err
}

// fly makes the writes of a class until none waits.
func (b *Batches[C, E]) fly(class C) {
	for {
		list, rows := b.take(class)
		if len(list) == 0 {
			return
		}
		endings, err := b.Write(context.Background(), rows, class)
		for _, w := range list {
			if w.err = err; err == nil {
				steps := 0
				for _, r := range w.rows {
					if r.Parent == 0 {
						steps++
					}
				}
				w.endings, endings = endings[:steps], endings[steps:]
			} else if len(list) > 1 && b.Undid(err) {
				w.endings, w.err = b.Write(context.Background(), w.rows, b.Alone(class))
			}
			close(w.done)
		}
	}
}

// take removes the first writes of a class, and returns their rows too.
func (b *Batches[C, E]) take(class C) (taken []*write[E], rows []Row) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.waiting[class]
	n := 0
	for n < len(list) && (n == 0 || len(rows)+len(list[n].rows) <= MaxRows) {
		base := int32(len(rows))
		for _, r := range list[n].rows {
			if r.Parent > 0 {
				r.Parent += base
			}
			rows = append(rows, r)
		}
		n++
	}
	if b.waiting[class] = list[n:]; n == 0 {
		if delete(b.waiting, class); b.flying[class] == 1 {
			delete(b.flying, class)
		} else {
			b.flying[class]--
		}
	}
	return list[:n], rows
}
