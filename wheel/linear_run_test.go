package wheel

import (
	"iter"
	"math/rand/v2"
	"testing"
	"time"
)

func TestConcurrentHistoriesAreLinearizable(t *testing.T) {
	const each = 10_000
	configs := []Config{
		{Shards: 1, Tick: minTick, Run: Inline},
		{Shards: 1, Tick: minTick},
		{Shards: 4, Tick: 300 * time.Microsecond, Run: Inline},
		{Shards: 2, Run: Inline},
	}
	counts := make(map[linearKind][2]int)
	for seed := range uint64(max(1, linearOperations()/each)) {
		history := record(t, configs[seed%uint64(len(configs))], 16, each, seed, nil)
		if wrong := checkLinear(history); wrong != nil {
			t.Fatalf("history %d: no order explains%s", seed, describeLinear(wrong))
		}
		for _, op := range history {
			n := counts[op.Input.(linearCall).kind]
			n[0]++
			if op.Output.(linearReply).ok {
				n[1]++
			}
			counts[op.Input.(linearCall).kind] = n
		}
	}
	for kind, name := range linearNames {
		n := counts[linearKind(kind)]
		t.Logf("%s: %d, %d of them true", name, n[0], n[1])
		if n[1] == 0 {
			t.Errorf("no history has a %s that succeeds", name)
		}
	}
}

// A checker that finds no faults may be wrong. Each of these wheels breaks one
// promise now and then.
func TestTheCheckOfHistoriesFindsEachWrongResult(t *testing.T) {
	is := func(w operations, id ID) bool { _, _, ok := w.Get(id); return ok }
	for name, l := range map[string]liar{
		"Remove removes nothing":       {remove: func(w operations, id ID) (int, bool) { v, _, ok := w.Get(id); return v, ok }},
		"Remove denies":                {remove: func(w operations, id ID) (int, bool) { v, _ := w.Remove(id); return v, false }},
		"Reset leaves the deadline":    {reset: func(w operations, id ID, _ time.Duration) bool { return is(w, id) }},
		"Reset denies":                 {reset: func(w operations, id ID, d time.Duration) bool { w.Reset(id, d); return false }},
		"Reset revives":                {reset: func(w operations, id ID, d time.Duration) bool { w.Reset(id, d); return true }},
		"Extend leaves the deadline":   {extend: func(w operations, id ID, _ time.Duration) bool { return is(w, id) }},
		"Extend makes a timer earlier": {extend: func(w operations, id ID, d time.Duration) bool { return w.Reset(id, d) }},
		"a timer fires twice":          {add: func(w operations, d time.Duration, timer int) ID { w.Add(d, timer); return w.Add(d, timer) }},
		"a timer fires early":          {add: func(w operations, d time.Duration, timer int) ID { return w.Add(d-2*minTick, timer) }},
		"a timer fires late":           {add: func(w operations, d time.Duration, timer int) ID { return w.Add(d+50*minTick, timer) }},
		"a timer is lost":              {add: func(w operations, d time.Duration, timer int) ID { id := w.Add(d, timer); w.Remove(id); return id }},
		"Get tells of another time": {get: func(w operations, id ID) (int, time.Duration, bool) {
			v, left, ok := w.Get(id)
			return v, left + 50*minTick, ok
		}},
		"Drain removes nothing": {drain: operations.All},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(500) {
				history := record(t, Config{Shards: 1, Tick: minTick, Run: Inline}, 4, 2000, seed, func(w operations) operations {
					l := l
					l.operations = w
					return l
				})
				if checkLinear(history) != nil {
					return
				}
			}
			t.Error("not found")
		})
	}
}

// liar is a wheel that seldom does something else in place of one operation.
type liar struct {
	operations
	add    func(w operations, d time.Duration, timer int) ID
	reset  func(w operations, id ID, d time.Duration) bool
	extend func(w operations, id ID, d time.Duration) bool
	remove func(w operations, id ID) (int, bool)
	get    func(w operations, id ID) (int, time.Duration, bool)
	drain  func(w operations) iter.Seq2[ID, int]
}

func seldom() bool { return rand.IntN(20) == 0 }

func (l liar) Add(d time.Duration, timer int) ID {
	if l.add != nil && seldom() {
		return l.add(l.operations, d, timer)
	}
	return l.operations.Add(d, timer)
}

func (l liar) Reset(id ID, d time.Duration) bool {
	if l.reset != nil && seldom() {
		return l.reset(l.operations, id, d)
	}
	return l.operations.Reset(id, d)
}

func (l liar) Extend(id ID, d time.Duration) bool {
	if l.extend != nil && seldom() {
		return l.extend(l.operations, id, d)
	}
	return l.operations.Extend(id, d)
}

func (l liar) Remove(id ID) (int, bool) {
	if l.remove != nil && seldom() {
		return l.remove(l.operations, id)
	}
	return l.operations.Remove(id)
}

func (l liar) Get(id ID) (int, time.Duration, bool) {
	if l.get != nil && seldom() {
		return l.get(l.operations, id)
	}
	return l.operations.Get(id)
}

func (l liar) Drain() iter.Seq2[ID, int] {
	if l.drain != nil {
		return l.drain(l.operations)
	}
	return l.operations.Drain()
}
