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
	for name, lie := range map[string]func(operations) operations{
		"Remove removes nothing":       func(w operations) operations { return emptyRemove{w} },
		"Remove denies":                func(w operations) operations { return deniedRemove{w} },
		"Reset leaves the deadline":    func(w operations) operations { return emptyReset{w} },
		"Reset denies":                 func(w operations) operations { return deniedReset{w} },
		"Reset revives":                func(w operations) operations { return revivingReset{w} },
		"Extend leaves the deadline":   func(w operations) operations { return emptyExtend{w} },
		"Extend makes a timer earlier": func(w operations) operations { return hastyExtend{w} },
		"a timer fires twice":          func(w operations) operations { return doubledAdd{w} },
		"a timer fires early":          func(w operations) operations { return hastyAdd{w} },
		"a timer fires late":           func(w operations) operations { return slowAdd{w} },
		"a timer is lost":              func(w operations) operations { return lostAdd{w} },
		"Get tells of another time":    func(w operations) operations { return wrongGet{w} },
		"Drain removes nothing":        func(w operations) operations { return emptyDrain{w} },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(500) {
				history := record(t, Config{Shards: 1, Tick: minTick, Run: Inline}, 4, 2000, seed, lie)
				if checkLinear(history) != nil {
					return
				}
			}
			t.Error("not found")
		})
	}
}

func seldom() bool { return rand.IntN(20) == 0 }

type emptyRemove struct{ operations }

func (l emptyRemove) Remove(id ID) (int, bool) {
	if seldom() {
		v, _, ok := l.Get(id)
		return v, ok
	}
	return l.operations.Remove(id)
}

type deniedRemove struct{ operations }

func (l deniedRemove) Remove(id ID) (int, bool) {
	v, ok := l.operations.Remove(id)
	return v, ok && !seldom()
}

type emptyReset struct{ operations }

func (l emptyReset) Reset(id ID, d time.Duration) bool {
	if seldom() {
		_, _, ok := l.Get(id)
		return ok
	}
	return l.operations.Reset(id, d)
}

type deniedReset struct{ operations }

func (l deniedReset) Reset(id ID, d time.Duration) bool {
	return l.operations.Reset(id, d) && !seldom()
}

type revivingReset struct{ operations }

func (l revivingReset) Reset(id ID, d time.Duration) bool {
	return l.operations.Reset(id, d) || seldom()
}

type emptyExtend struct{ operations }

func (l emptyExtend) Extend(id ID, d time.Duration) bool {
	if seldom() {
		_, _, ok := l.Get(id)
		return ok
	}
	return l.operations.Extend(id, d)
}

type hastyExtend struct{ operations }

func (l hastyExtend) Extend(id ID, d time.Duration) bool {
	if seldom() {
		return l.operations.Reset(id, d)
	}
	return l.operations.Extend(id, d)
}

type doubledAdd struct{ operations }

func (l doubledAdd) Add(d time.Duration, timer int) ID {
	if seldom() {
		l.operations.Add(d, timer)
	}
	return l.operations.Add(d, timer)
}

type hastyAdd struct{ operations }

func (l hastyAdd) Add(d time.Duration, timer int) ID {
	if seldom() {
		d -= 2 * minTick
	}
	return l.operations.Add(d, timer)
}

type slowAdd struct{ operations }

func (l slowAdd) Add(d time.Duration, timer int) ID {
	if seldom() {
		d += 50 * minTick
	}
	return l.operations.Add(d, timer)
}

type lostAdd struct{ operations }

func (l lostAdd) Add(d time.Duration, timer int) ID {
	id := l.operations.Add(d, timer)
	if seldom() {
		l.operations.Remove(id)
	}
	return id
}

type wrongGet struct{ operations }

func (l wrongGet) Get(id ID) (int, time.Duration, bool) {
	v, left, ok := l.operations.Get(id)
	if seldom() {
		left += 50 * minTick
	}
	return v, left, ok
}

type emptyDrain struct{ operations }

func (l emptyDrain) Drain() iter.Seq2[ID, int] { return l.All() }
