package namespaces

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/test/battery/verify"
)

// goodRow is a row in which everything is as promised.
func goodRow() attackRow {
	late := func(ms ...int) (list []time.Duration) {
		for _, v := range ms {
			list = append(list, time.Duration(v)*time.Millisecond)
		}
		return list
	}
	return attackRow{
		attack: attack{Name: "some", bounded: true}, attacker: attackCounts{Requests: 1}, created: 200, resident: 100 << 20, growth: 1000,
		alone: measurement{victim: late(1, 2, 5)}, beside: measurement{victim: late(1, 2, 55)},
		verdict: verify.Verdict{Accepted: 6, Arrived: 6},
	}
}

func TestARowFindsWhatAnAttackHasHurt(t *testing.T) {
	for name, c := range map[string]struct {
		hurt func(*attackRow)
		says string // in the only criterion that fails; empty means that none does
	}{
		"nothing":            {func(*attackRow) {}, ""},
		"no attack":          {func(r *attackRow) { r.attacker.Requests = 0 }, "took place"},
		"a server that died": {func(r *attackRow) { r.died = true }, "survived"},
		"no task alone":      {func(r *attackRow) { r.alone.victim, r.beside.victim[2] = nil, time.Millisecond }, "tasks of the victim"},
		"no task beside":     {func(r *attackRow) { r.beside.victim = nil }, "tasks of the victim"},
		"a p99 51 ms later":  {func(r *attackRow) { r.beside.victim[2] = 56 * time.Millisecond }, "p99 shifts"},
		"a task 501 ms late": {func(r *attackRow) {
			r.alone.victim[2], r.beside.victim[2] = 480*time.Millisecond, 501*time.Millisecond
		}, "501.0 ms late"},
		"memory of 1 GiB and a byte":   {func(r *attackRow) { r.resident = 1<<30 + 1 }, "memory's peak"},
		"memory that was not seen":     {func(r *attackRow) { r.resident = 0 }, "memory's peak"},
		"a store that grows":           {func(r *attackRow) { r.growth = 1<<20 + 1 }, "grows"},
		"growth where none is bounded": {func(r *attackRow) { r.growth, r.attack.bounded = 1<<30, false }, ""},
		"a create refused":             {func(r *attackRow) { r.refused.Add("create x: status 429") }, "status 429"},
		"the same on a full disk":      {func(r *attackRow) { r.refused.Add("create x: status 503"); r.attack.tinyDisk = true }, ""},
		"a lost task":                  {func(r *attackRow) { r.verdict.Lost = []string{"a"} }, "lost 1: [a]"},
		"an early task":                {func(r *attackRow) { r.verdict.Early = []string{"a"} }, "early 1: [a]"},
		"a task that came twice":       {func(r *attackRow) { r.verdict.Unexplained = []string{"a"} }, "duplicates"},
	} {
		row := goodRow()
		c.hurt(&row)
		failed := row.failed()
		switch {
		case c.says == "" && len(failed) > 0:
			t.Errorf("%s: it finds %q", name, failed)
		case c.says != "" && (len(failed) != 1 || !strings.Contains(failed[0], c.says)):
			t.Errorf("%s: it finds %q, want one that says %q", name, failed, c.says)
		}
		if pass := strings.Contains(row.line(), "PASS"); pass != (c.says == "") {
			t.Errorf("%s: its line is %q", name, row.line())
		}
	}
}

func TestOnePauseOfTheMachineDecidesNoAttack(t *testing.T) {
	turn := func(shift time.Duration, lost ...string) *attackRow {
		r := goodRow()
		r.beside.victim[2] = r.alone.victim[2] + shift
		r.verdict.Lost = lost
		return &r
	}
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		turns  []*attackRow
		counts int // index; -1 means that another turn is needed
	}{
		"a good turn":                  {[]*attackRow{turn(50 * ms)}, 0},
		"a turn with a pause":          {[]*attackRow{turn(51 * ms)}, -1},
		"and a good one":               {[]*attackRow{turn(51 * ms), turn(1 * ms)}, -1},
		"and another good one":         {[]*attackRow{turn(51 * ms), turn(1 * ms), turn(2 * ms)}, 2},
		"two turns that miss":          {[]*attackRow{turn(51 * ms), turn(1 * ms), turn(60 * ms)}, 0},
		"a lost task":                  {[]*attackRow{turn(1*ms, "a")}, 0},
		"a lost task and a pause":      {[]*attackRow{turn(51*ms, "a")}, 0},
		"a lost task in another turn":  {[]*attackRow{turn(51 * ms), turn(1*ms, "a")}, 1},
		"a lost task in the last turn": {[]*attackRow{turn(51 * ms), turn(1 * ms), turn(1*ms, "a")}, 2},
	} {
		got := deciding(c.turns)
		if c.counts < 0 && got != nil || c.counts >= 0 && got != c.turns[c.counts] {
			t.Errorf("%s: the turn %d counts, want %d", name, slices.Index(c.turns, got), c.counts)
		}
	}
}

func TestAttacksAreChosenByName(t *testing.T) {
	chosen, err := Choose("lists,window")
	if err != nil || len(chosen) != 2 || chosen[0].Name != "lists" || chosen[1].Name != "window" {
		t.Errorf("%v, %v", chosen, err)
	}
	if _, err := Choose("lists,windoe"); err == nil || !strings.Contains(err.Error(), "windoe") {
		t.Errorf("an attack that does not exist: %v", err)
	}
	for _, a := range All {
		if a.prepare == nil && a.strike == nil || a.drains && a.prepare == nil {
			t.Errorf("%s does nothing", a.Name)
		}
	}
}

// attackedServer is a server that counts requests, and an order to attack it.
func attackedServer(t *testing.T, handler http.HandlerFunc) attackOrder {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("other systems have one loopback address")
	}
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return attackOrder{Server: server.Listener.Addr().String(), Roots: cert, Token: "secret", Callback: "127.0.0.1:9"}
}

func TestTheAttacksOverHTTP2ReachTheServer(t *testing.T) {
	for name, strike := range map[string]func(context.Context, *attacker){
		"resets": resets,
		"window": func(ctx context.Context, a *attacker) { a.stall(ctx, 1, 20) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
			defer stop()
			var held atomic.Int32
			order := attackedServer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != 2 || r.Header.Get("Authorization") != "Bearer secret" {
					t.Errorf("a request by %s, token %q", r.Proto, r.Header.Get("Authorization"))
				}
				if held.Add(1) == 20 {
					stop()
				}
				_, _ = w.Write(make([]byte, 64<<10)) // the window attack holds this up
			})
			a, err := newAttacker(order)
			fatal.If(t, err)
			strike(ctx, a)
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("only %d requests came", held.Load())
			}
		})
	}
}

func TestAnAttackerCountsWhatItDidUntilItsInputEnds(t *testing.T) {
	var asked atomic.Int32
	enough := make(chan struct{})
	order := attackedServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/openapi.json" {
			t.Errorf("it asks for %s", r.URL)
		}
		if asked.Add(1) == 1000 {
			close(enough)
		}
		w.WriteHeader(http.StatusTooManyRequests)
	})
	order.Attack = "openapi"
	p, err := startAttack(order)
	fatal.If(t, err)
	if _, err := p.prepared(); err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests before the start", n)
	}
	fatal.If(t, p.strike())
	<-enough
	counts, err := p.end()
	if err != nil || counts.Statuses[http.StatusTooManyRequests] < 500 || counts.Requests < 500 {
		t.Errorf("it counts %+v, %v", counts, err)
	}
}

func TestACrowdIsDueAtOneInstantAfterItsCreation(t *testing.T) {
	a := &attacker{}
	var last atomic.Int64
	seen := make(chan time.Time, 100)
	err := a.muster(100, func(_ int, due time.Time) error {
		last.Store(time.Now().UnixNano())
		seen <- due
		return nil
	}, 5)
	fatal.If(t, err)
	close(seen)
	count := 0
	for due := range seen {
		if due.Equal(a.ready.Due) {
			count += 5
		} else if due.Before(a.ready.Due.Add(time.Hour)) {
			t.Errorf("one is due at %v, the crowd at %v", due, a.ready.Due)
		}
	}
	if count != a.ready.Count || count != 450 || a.ready.Due.UnixNano() < last.Load() {
		t.Errorf("%d are due at %v, promised %+v", count, a.ready.Due, a.ready)
	}
}

func TestTheBatchesOfAnAttackAreOneTaskOfTheSizeOfABatch(t *testing.T) {
	for _, b := range [][]byte{wideBatch(`"http":{"url":"http://127.0.0.1/","body":"`, `\u0001`, `"}`), wideBatch(`"labels":{`, `"%07d":"",`, `"":""}`)} {
		var in struct{ Tasks []json.RawMessage }
		if err := json.Unmarshal(b, &in); err != nil || len(in.Tasks) != 1 || len(b) < batchBytes || len(b) > 16<<20 {
			t.Errorf("%d tasks in %d bytes, %v", len(in.Tasks), len(b), err)
		}
	}
}
