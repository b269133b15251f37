package planner

import (
	"math"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"pgregory.net/rapid"
)

// naive is a token bucket that knows all starts and computes from them alone.
type naive struct {
	rate, burst float64
	starts      []time.Duration
}

// tokens returns the number of tokens at now.
func (n *naive) tokens(now time.Duration) float64 {
	tokens, at := n.burst, time.Duration(0)
	for _, s := range n.starts {
		tokens = min(n.burst, tokens+n.rate*(s-at).Seconds()) - 1
		at = s
	}
	return min(n.burst, tokens+n.rate*(now-at).Seconds())
}

// withinLimit checks the promise itself, over every interval.
func (n *naive) withinLimit(t *rapid.T) {
	for i, from := range n.starts {
		for j, to := range n.starts[i:] {
			if limit := n.burst + n.rate*(to-from).Seconds(); float64(j+1) > limit+1e-6 {
				t.Fatalf("%d starts within %v, where %f may be", j+1, to-from, limit)
			}
		}
	}
}

func TestStartsAreExactlyWhatBurstAndRateAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := &settings.QueueSettings{Rate: rapid.Float64Range(0.5, 5000).Draw(t, "rate"), Burst: rapid.IntRange(0, 8).Draw(t, "burst")}
		n := &naive{rate: q.Rate, burst: float64(q.BurstOrDefault())}
		var b bucket
		b.configure(q, 0)
		now := time.Duration(0)
		step := time.Duration(rapid.Float64Range(0.01, 3).Draw(t, "step") * float64(time.Second) / q.Rate)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1:
				now += time.Duration(rapid.Float64Range(0, 2).Draw(t, "wait") * float64(step))
			case 2, 3, 4:
				has, want := b.next(now) <= now, n.tokens(now)-float64(b.reserved) >= 1
				sure := math.Abs(n.tokens(now)-math.Round(n.tokens(now))) > 1e-6
				if has && !want && sure || want && !has && sure {
					t.Fatalf("there is a token: %v, with %f by the model, %d reserved", has, n.tokens(now), b.reserved)
				}
				if has {
					b.reserved++
				}
			case 5: // a pick begins, or not
				switch {
				case b.reserved > 0 && rapid.Bool().Draw(t, "granted"):
					b.charge(now)
					n.starts = append(n.starts, now)
				case b.reserved > 0:
					b.reserved--
				}
			}
		}
		n.withinLimit(t)
	})
}

func TestATokenIsAvailableExactlyAtItsPredictedTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := &settings.QueueSettings{Rate: rapid.Float64Range(0.01, settings.MaxRate).Draw(t, "rate"), Burst: rapid.IntRange(1, 4).Draw(t, "burst")}
		var b bucket
		b.configure(q, 0)
		now, n := time.Duration(0), 0
		for range 2000 {
			at := b.next(now)
			if at > now && b.next(at-1) <= at-1 {
				t.Fatalf("a token is there before %v", at)
			}
			if now = max(now, at); b.next(now) > now {
				t.Fatalf("no token at %v", now)
			}
			b.reserved++
			b.charge(now)
			n++
		}
		if most := float64(q.Burst) + q.Rate*now.Seconds(); float64(n) > most+1e-3 || float64(n) < most-1.001-q.Rate*2e-6 {
			t.Fatalf("%d starts in %v, want %f", n, now, most)
		}
	})
}

func TestANewRateCountsFromNow(t *testing.T) {
	var b bucket
	b.configure(&settings.QueueSettings{Rate: 1.0 / 3600, Burst: 100}, 0)
	for range 100 {
		b.reserved++
		b.charge(0)
	}
	b.configure(&settings.QueueSettings{Rate: 10, Burst: 1}, 0)
	if at := b.next(0); at != 100*time.Millisecond {
		t.Errorf("after a rate of one an hour became ten a second the next token comes after %v", at)
	}
	b.configure(&settings.QueueSettings{}, 0)
	if at := b.next(0); at != 0 {
		t.Errorf("without a rate the next token comes after %v", at)
	}
}
