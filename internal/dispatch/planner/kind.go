package planner

import "github.com/foliot/foliot/internal/task"

// MaxLimitedKinds is the maximum number of kinds that can have a limit.
const MaxLimitedKinds = 63

// kind is the state of the handler of a kind. All namespaces share it.
type kind struct {
	atOnce  int // how many attempts may run at once; zero means no limit
	running int // attempts that run now
	// bit stands for the kind in cost.kinds. All kinds without a limit have the
	// bit unlimited.
	bit uint64
}

// unlimited is the bit of the kinds without a limit.
const unlimited = 1 << MaxLimitedKinds

// newKinds returns the kinds with a handler in this process. limits has the
// limit of each kind, or zero.
func newKinds(limits map[string]int) map[string]*kind {
	kinds, bit := map[string]*kind{}, uint64(1)
	for name, atOnce := range limits {
		k := &kind{atOnce: atOnce, bit: unlimited}
		if atOnce > 0 {
			k.bit, bit = bit, bit<<1
		}
		kinds[name] = k
	}
	return kinds
}

// runs reports whether this process runs tasks to a destination: it sends requests,
// or has a handler of the kind that runs tasks of the namespace. It returns the
// kind if there is one.
func (pl *Planner) runs(of destinationKey) (k *kind, runs bool) {
	name := task.KindOf(of.destination)
	if name == "" {
		return nil, of.destination == "" || pl.slots.all > 0
	}
	if k = pl.kinds[name]; k == nil || pl.config.KindsOf != "" && of.namespace != pl.config.KindsOf {
		return &kind{bit: unlimited}, false // its lanes never start
	}
	return k, true
}

// countKind counts an attempt of t that has started (1) or ended (-1).
func (pl *Planner) countKind(t *destination, by int) {
	k := t.kind
	if k == nil {
		return
	}
	if k.running += by; k.atOnce == 0 {
		return
	}
	pl.slots.full &^= k.bit
	if k.running >= k.atOnce {
		pl.slots.full |= k.bit
	}
}
