package planner

import (
	"slices"

	"github.com/foliot/foliot/internal/task"
)

// kind is the state of the handler of a kind. All namespaces share it.
type kind struct {
	atOnce       int // how many may run at once; zero means no limit
	running      int
	destinations []*destination // one for each namespace, in no order
}

// kindOf returns the kind with that name.
func (pl *Planner) kindOf(name string) *kind {
	k := pl.kinds[name]
	if k == nil {
		k = &kind{atOnce: pl.config.Kinds[name]}
		pl.kinds[name] = k
	}
	return k
}

// dropKind forgets the destination t of a kind, and a kind without destinations.
func (pl *Planner) dropKind(t *destination) {
	k := t.kind
	if k == nil {
		return
	}
	k.destinations = slices.DeleteFunc(k.destinations, func(d *destination) bool { return d == t })
	if len(k.destinations) == 0 {
		delete(pl.kinds, task.KindOf(t.key.destination))
	}
}

// full reports whether as many handlers run as the kind allows. A nil kind is that
// of receivers.
func (k *kind) full() bool { return k != nil && k.atOnce > 0 && k.running >= k.atOnce }

// countKind counts an attempt of t that has started (1) or ended (-1). When the kind
// becomes full, or is full no more, its lanes are placed again.
func (pl *Planner) countKind(t *destination, by int, now task.Millis) {
	k := t.kind
	if k == nil {
		return
	}
	was := k.full()
	if k.running += by; k.full() == was {
		return
	}
	for _, d := range k.destinations {
		pl.redo(&d.update, now)
	}
}
