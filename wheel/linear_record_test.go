package wheel

import (
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// linearRun lets many goroutines use few timers at random, so that they meet,
// and records all calls.
type linearRun struct {
	t     *testing.T
	tick  time.Duration
	start time.Time
	wheel *Wheel[int]

	timers atomic.Int64 // added so far
	cells  [8]atomic.Pointer[linearHandle]

	mu      sync.Mutex // guards history
	history []porcupine.Operation
}

type linearHandle struct {
	id    ID
	timer int
}

func (r *linearRun) now() time.Duration { return time.Since(r.start) }

func (r *linearRun) note(c linearCall, out linearReply) {
	c.tick = r.tick
	op := porcupine.Operation{Input: c, Output: out, Call: int64(c.call), Return: int64(c.ret)}
	r.mu.Lock()
	r.history = append(r.history, op)
	r.mu.Unlock()
}

// fired records a batch. Late shows when its timers were found due, so they
// expired after that.
func (r *linearRun) fired(batch []Expired[int]) {
	now := r.now()
	for _, e := range batch {
		due := e.Due.Sub(r.start)
		r.note(linearCall{kind: linearFire, timer: e.Value, call: due + e.Late, ret: now}, linearReply{ok: true, due: due})
	}
}

func (r *linearRun) add(d time.Duration, into *atomic.Pointer[linearHandle]) {
	timer := int(r.timers.Add(1) - 1)
	call := r.now()
	id := must(r.wheel.Add(d, timer))
	r.note(linearCall{kind: linearAdd, timer: timer, d: d, call: call, ret: r.now()}, linearReply{ok: id != 0})
	into.Store(&linearHandle{id, timer})
}

// operate makes one random call for one of the timers, which may have ended.
func (r *linearRun) operate(rnd *rand.Rand) {
	cell := &r.cells[rnd.IntN(len(r.cells))]
	d := time.Duration(rnd.IntN(12)) * r.tick / 2
	h := cell.Load()
	if h == nil || rnd.IntN(10) == 0 {
		r.add(d, cell)
		return
	}
	c := linearCall{timer: h.timer, d: d}
	var out linearReply
	v := h.timer
	c.call = r.now()
	switch k := rnd.IntN(400); {
	case k < 100:
		c.kind, out.ok = linearReset, r.wheel.Reset(h.id, d)
	case k < 250:
		c.kind, out.ok = linearExtend, r.wheel.Extend(h.id, d)
	case k < 300:
		c.kind = linearRemove
		v, out.ok = r.wheel.Remove(h.id)
	case k < 390:
		c.kind = linearGet
		v, out.left, out.ok = r.wheel.Get(h.id)
	case k < 398:
		r.look(linearSee, r.wheel.All(), 3)
		return
	default:
		r.look(linearDrain, r.wheel.Drain(), 3)
		return
	}
	c.ret = r.now()
	if out.ok && v != h.timer {
		r.t.Errorf("%s gave value %d for timer %d", linearNames[c.kind], v, h.timer)
	}
	r.note(c, out)
}

// look records the timers that All or Drain yields, but at most most of them.
func (r *linearRun) look(kind linearKind, seq iter.Seq2[ID, int], most int) {
	n, since := 0, r.now()
	for _, timer := range seq {
		now := r.now()
		r.note(linearCall{kind: kind, timer: timer, call: since, ret: now}, linearReply{ok: true})
		if n++; n == most {
			return
		}
		if kind == linearDrain {
			since = now
		}
	}
}

// record makes one history of about n operations by workers goroutines.
func record(t *testing.T, cfg Config, workers, n int, seed uint64) []porcupine.Operation {
	r := &linearRun{t: t, tick: tickOf(cfg), start: time.Now()}
	r.wheel = NewBatch(cfg, r.fired)
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(worker)))
			for range n / workers {
				r.operate(rnd)
			}
		})
	}
	wg.Wait()
	noError(t, r.wheel.Shutdown(t.Context()))
	r.look(linearDrain, r.wheel.Drain(), n)
	checkCounters(t, r.wheel)
	return slices.Clone(r.history)
}
