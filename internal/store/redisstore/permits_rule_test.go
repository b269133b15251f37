package redisstore

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/permits"
)

// scriptAtATime is the script of permits with the time as two more arguments.
func scriptAtATime(t *testing.T) string {
	t.Helper()
	source, err := sources.ReadFile("scripts/permits.lua")
	fatal.If(t, err)
	before, after, ok := strings.Cut(string(source), "redis.call('TIME')")
	if !ok {
		t.Fatal("the script does not read the time")
	}
	return before + "{ARGV[12], ARGV[13]}" + after
}

// walk is a random history of a scope: processes ask, late, twice or never again,
// with limits that change and a clock that is set.
type walk struct {
	*rand.Rand

	now    int64
	limits store.PermitAsk
	nodes  []*walker
	said   []walked
}

// walker is a process, by its own knowledge.
type walker struct {
	who                     string
	n, used                 uint64
	held, tokens            int
	usedAt, ends            int64
	lease                   time.Duration
	backlog, tokensPerStart int
}

// walked is an ask of a process.
type walked struct {
	who   string
	n     uint64
	lease time.Duration
	ask   store.PermitAsk
}

func newWalk(seed uint64) *walk {
	w := &walk{Rand: rand.New(rand.NewPCG(seed, 9)), now: 1_790_000_000_000_000 + int64(seed)}
	w.change()
	for i := range 2 + w.IntN(4) {
		w.nodes = append(w.nodes, &walker{who: fmt.Sprint("node", i), ends: w.now, lease: time.Duration(10+w.IntN(2)) * time.Second, backlog: w.IntN(15), tokensPerStart: 1 + w.IntN(40)})
	}
	return w
}

func (w *walk) change() {
	w.limits = store.PermitAsk{PermitScope: store.PermitScope{Namespace: "default", Queue: "q"}, Concurrency: w.IntN(9)}
	if rates := []float64{0, 1.0 / 3600, 0.7, 6, 20, 333, 1000, 70000, 1e6}; w.IntN(5) > 0 {
		w.limits.Rate, w.limits.Burst = rates[w.IntN(len(rates))], 1+w.IntN(20)
	}
}

// next returns the next ask, after some time.
func (w *walk) next() walked {
	switch n := w.IntN(400); {
	case n < 250:
		w.now += w.Int64N(3000)
	case n < 330:
		w.now += w.Int64N(300_000)
	case n < 380:
		w.now += w.Int64N(2_000_000)
	case n < 383:
		w.now += w.Int64N(20_000_000)
	case n < 386:
		w.now -= w.Int64N(2_000_000)
	case n == 386:
		w.now -= w.Int64N(3_600_000_000)
	case n < 390: // the lease of a process ends
		w.now = w.nodes[w.IntN(len(w.nodes))].ends + w.Int64N(3) - 1
	}
	if w.IntN(60) == 0 {
		w.change()
	}
	if w.IntN(15) == 0 && len(w.said) > 0 {
		return w.said[w.IntN(len(w.said))]
	}
	p := w.nodes[w.IntN(len(w.nodes))]
	if w.IntN(50) == 0 {
		*p = walker{who: p.who + "'", ends: w.now, lease: p.lease, backlog: w.IntN(15), tokensPerStart: 1 + w.IntN(40)}
	}
	if w.IntN(20) == 0 {
		p.backlog = w.IntN(3) * w.IntN(8)
	}
	p.n++
	p.ends = w.now + p.lease.Microseconds()
	a := w.limits
	a.Keep, a.Want = p.held, p.backlog
	if w.IntN(2) == 0 {
		a.Keep = w.IntN(p.held + 1)
	}
	if spent := w.IntN(p.tokens + 1); spent > 0 {
		p.used, p.usedAt = p.used+uint64(spent), w.now-w.Int64N(5000)
	}
	a.Used, a.UsedAgo, a.Tokens = p.used, time.Duration(w.now-p.usedAt)*time.Microsecond, p.backlog*p.tokensPerStart
	if w.IntN(4) == 0 {
		a.Tokens = w.IntN(p.tokens + 1)
	}
	said := walked{p.who, p.n, p.lease, a}
	w.said = append(w.said, said)
	return said
}

// hear gives a reply to the process, unless it gets lost.
func (w *walk) hear(s walked, r store.PermitReply) {
	for _, p := range w.nodes {
		if p.who == s.who && p.n == s.n && w.IntN(15) > 0 {
			p.held, p.tokens = r.Held, r.Tokens
		}
	}
}

// TestTheRuleInGoDecidesLikeTheScript compares every reply of random histories, and
// the state after each history.
func TestTheRuleInGoDecidesLikeTheScript(t *testing.T) {
	t.Parallel()
	c, ctx := redisClient(t), t.Context()
	sha, err := c.Do(ctx, c.B().ScriptLoad().Script(scriptAtATime(t)).Build()).ToString()
	fatal.If(t, err)
	for seed := range uint64(quick.Of(400, 40)) {
		w, scope := newWalk(seed), &permits.Scope{}
		var runs rueidis.Commands
		var said []walked
		var replies []store.PermitReply
		var hints [][]string
		keys := storeKeys.Permits(fmt.Sprint(seed))
		for i := range 500 {
			s := w.next()
			reply, others := scope.Ask(w.now, s.who, s.n, s.lease, s.ask)
			w.hear(s, reply)
			run := permitRun(storeKeys, s.who, s.n, s.lease, s.ask)
			args := append(run.Args, strconv.FormatInt(w.now/1e6, 10), strconv.FormatInt(w.now%1e6, 10))
			runs = append(runs, c.B().Evalsha().Sha1(sha).Numkeys(2).Key(keys...).Arg(args...).Build())
			said, replies, hints = append(said, s), append(replies, reply), append(hints, others)
			if i%10 == 0 {
				scope = reread(t, scope)
			}
		}
		for i, r := range c.DoMulti(ctx, runs...) {
			reply, others, err := readPermits(r)
			fatal.If(t, err)
			reply.Lease = said[i].lease
			if slices.Sort(others); reply != replies[i] || !slices.Equal(others, hints[i]) {
				t.Fatalf("history %d, ask %d: %+v\nscript: %+v %q\nGo:     %+v %q", seed, i, said[i], reply, others, replies[i], hints[i])
			}
		}
		for i, want := range stateOf(scope) {
			got, err := c.Do(ctx, c.B().Hgetall().Key(keys[i]).Build()).AsStrMap()
			if fatal.If(t, err); !maps.Equal(got, want) {
				t.Fatalf("history %d ends with\nscript: %v\nGo:     %v", seed, got, want)
			}
		}
	}
}

// reread returns a scope as a store reads it.
func reread(t *testing.T, s *permits.Scope) *permits.Scope {
	t.Helper()
	text, err := json.Marshal(s)
	fatal.If(t, err)
	again := &permits.Scope{}
	fatal.If(t, json.Unmarshal(text, again))
	return again
}

// stateOf returns the two hashes in which the script keeps a scope.
func stateOf(s *permits.Scope) [2]map[string]string {
	held, tokens := map[string]string{}, map[string]string{}
	for who, p := range s.Permits {
		held[who] = fmt.Sprint(p.Held, p.Want, p.Until, p.Fresh, p.Since, p.Replied, p.Number) + " "
	}
	for who, p := range s.Tokens {
		tokens[who] = fmt.Sprint(p.Held, p.Used, p.Until, p.Since, p.Want, p.Fresh, p.Number, p.Ready) + " "
	}
	if s.Interval > 0 {
		tokens["tat"], tokens["interval"] = strconv.FormatFloat(s.Full, 'f', 3, 64), fmt.Sprintf("%.17g", s.Interval)
	}
	return [2]map[string]string{held, tokens}
}
