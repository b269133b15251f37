package wheel

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
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
		history := record(t, configs[seed%uint64(len(configs))], 16, each, seed)
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

// A checker that finds no faults may be wrong. In each of these histories of
// one timer, the last reply breaks a promise.
func TestTheCheckOfHistoriesFindsEachWrongResult(t *testing.T) {
	const ms = time.Millisecond
	// call is an operation that takes a millisecond.
	call := func(kind linearKind, at, d time.Duration, out linearReply) porcupine.Operation {
		c := linearCall{kind: kind, d: d, call: at, ret: at + ms, tick: ms}
		return porcupine.Operation{Input: c, Output: out, Call: int64(at), Return: int64(at + ms)}
	}
	yes, no := linearReply{ok: true}, linearReply{}
	due := func(at time.Duration) linearReply { return linearReply{ok: true, due: at} }
	add := call(linearAdd, 0, 20*ms, yes)
	remove, extend := call(linearRemove, 5*ms, 0, yes), call(linearExtend, 5*ms, 20*ms, yes)
	sooner, later := call(linearReset, 5*ms, 10*ms, yes), call(linearReset, 5*ms, 30*ms, yes)
	fire := call(linearFire, 21*ms, 0, due(21*ms))
	for name, history := range map[string][]porcupine.Operation{
		"Remove removes nothing":       {add, remove, fire},
		"Remove denies":                {add, call(linearRemove, 5*ms, 0, no)},
		"Reset leaves the deadline":    {add, later, fire},
		"Reset to an earlier time too": {add, sooner, fire},
		"Reset denies":                 {add, call(linearReset, 5*ms, 30*ms, no)},
		"Reset revives":                {add, remove, call(linearReset, 7*ms, 30*ms, yes)},
		"Extend leaves the deadline":   {add, extend, fire},
		"Extend makes a timer earlier": {add, call(linearExtend, 5*ms, 5*ms, yes), call(linearFire, 12*ms, 0, due(11*ms))},
		"a timer fires twice":          {add, fire, call(linearFire, 23*ms, 0, due(21*ms))},
		"a timer fires early":          {add, call(linearFire, 18*ms, 0, due(20*ms))},
		"a timer has a late deadline":  {add, call(linearFire, 80*ms, 0, due(60*ms))},
		"a timer is lost":              {add, call(linearGet, 5*ms, 0, no)},
		"Get tells of another time":    {add, call(linearGet, 5*ms, 0, linearReply{ok: true, left: 60 * ms})},
		"Drain removes nothing":        {add, call(linearDrain, 5*ms, 0, yes), fire},
	} {
		if checkLinear(history[:len(history)-1]) != nil {
			t.Errorf("%s: a fault is found in the operations before the last", name)
		}
		if checkLinear(history) == nil {
			t.Errorf("%s: not found", name)
		}
	}
}
