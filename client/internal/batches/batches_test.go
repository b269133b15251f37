package batches_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/client/internal/batches"
)

// call is a call of the test, and of the model.
type call struct{ number, size, most int }

// model is the rules of a Queue, word by word: it keeps all that ever happened,
// and searches it each time.
type model struct {
	waiting []call
	batches []batch // all, with those that ended
}

type batch struct {
	began time.Time
	ended bool
}

func (m *model) counting(now time.Time) (n int) {
	for _, b := range m.batches {
		if !b.ended && now.Before(b.began.Add(100*time.Millisecond)) {
			n++
		}
	}
	return n
}

// next returns the longest beginning of the waiting calls that may be a batch.
func (m *model) next(now time.Time) (out []call) {
	if m.counting(now) >= 4 {
		return nil
	}
	for n := min(len(m.waiting), 1000); n > 0; n-- {
		if some := m.waiting[:n]; n == 1 || allowed(some) {
			out = slices.Clone(some)
			m.waiting = m.waiting[n:]
			m.batches = append(m.batches, batch{began: now})
			return out
		}
	}
	return nil
}

func allowed(calls []call) bool {
	size := 0
	for _, c := range calls {
		if size += c.size; c.most < len(calls) {
			return false
		}
	}
	return size <= 8<<20
}

func TestAQueueFollowsItsModel(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 48))
			var q batches.Queue[call]
			var m model
			var ids []uint64 // of the batches of m
			now, sum := time.Unix(1_900_000_000, 0), 0
			out := map[int]bool{}
			for range 400 {
				switch op := random.IntN(10); {
				case op < 5:
					for range 1 + random.IntN([]int{1, 1, 20, 1500}[random.IntN(4)]) {
						sum++
						c := call{sum, []int{100, 3000, 3 << 20, 9 << 20}[min(3, random.IntN(40)/10*random.IntN(2))], 1000}
						if random.IntN(20) == 0 {
							c.most = 1 + random.IntN(1000)
						}
						q.Add(c, c.size, c.most)
						m.waiting = append(m.waiting, c)
					}
				case op < 7 && len(ids) > 0:
					i := random.IntN(len(ids))
					q.End(ids[i])
					m.batches[i].ended = true
				case op < 8:
					c := call{number: 1 + random.IntN(sum+1)}
					if i := slices.IndexFunc(m.waiting, func(w call) bool { return w.number == c.number }); i >= 0 {
						c = m.waiting[i]
						m.waiting = slices.Delete(slices.Clone(m.waiting), i, i+1)
						if !q.Remove(c) {
							t.Fatalf("call %d waits, and cannot be removed", c.number)
						}
					} else if q.Remove(c) {
						t.Fatalf("call %d does not wait, and was removed", c.number)
					}
				default:
					now = now.Add(time.Duration(random.IntN(60)) * time.Millisecond)
				}
				for {
					want := m.next(now)
					id, got := q.Next(now)
					if !slices.Equal(got, want) {
						t.Fatalf("%d calls go out, want %d", len(got), len(want))
					}
					if want == nil {
						break
					}
					ids = append(ids, id)
					for _, c := range got {
						if out[c.number] {
							t.Fatalf("call %d goes out twice", c.number)
						}
						out[c.number] = true
					}
				}
				wake := q.Wake()
				if wake.IsZero() != (len(m.waiting) == 0) {
					t.Fatalf("%d calls wait, and the queue wakes at %v", len(m.waiting), wake)
				}
				if !wake.IsZero() && (m.counting(wake) >= 4 || m.counting(wake.Add(-1)) < 4) {
					t.Fatal("the queue does not wake when the first batch becomes slow")
				}
			}
		})
	}
}
