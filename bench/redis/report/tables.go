package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/redis/contender"
)

// title returns the contender's title, in bold if it is Foliot's.
func (r *Result) title() string {
	info, err := contender.Find(r.Contender)
	if err != nil {
		return r.Contender
	}
	return page.Title(info.Title, info.Ours)
}

func (r *Result) rate() float64 { return float64(r.N) / r.Seconds }

// of returns the results of a kind that did not fail.
func (r *Run) of(kind string) (list []*Result) {
	for i := range r.Results {
		if r.Results[i].Kind == kind && r.Results[i].Failed == "" {
			list = append(list, &r.Results[i])
		}
	}
	return list
}

// Creates is the table of create rates.
func (r *Run) Creates() string {
	t := &page.Table{Head: []string{"", "tasks in a call", "callers", "body, bytes", "creates a second", "Redis, µs", "its server, µs", "the creating process, µs"}}
	for _, x := range r.of(Create) {
		t.Add(x.title(), page.Count(x.Each), page.Count(x.Callers), page.Count(x.Size), page.Count(int(x.rate())), figure(x.Redis), orNone(x.Node), figure(x.Own))
	}
	return t.String()
}

// figure formats a number. It rounds numbers below a tenth.
func figure(x float64) string {
	if math.Abs(x) < 0.1 {
		x = math.Round(10*x) / 10
	}
	return page.Figure(x)
}

func orNone(x float64) string {
	if x == 0 {
		return page.Missing
	}
	return figure(x)
}

// Sizes is the table of bytes per task.
func (r *Run) Sizes() string {
	t := &page.Table{Head: []string{"", "body, bytes", "memory, bytes", "less the body", "appended to the file, bytes"}}
	seen := map[string]bool{}
	for _, x := range r.of(Create) {
		if key := fmt.Sprint(x.Contender, x.Size); !seen[key] {
			seen[key] = true
			t.Add(x.title(), page.Count(x.Size), figure(x.Bytes), figure(x.Bytes-float64(x.Size)), figure(x.File))
		}
	}
	for _, x := range r.of(Late) {
		if info, err := contender.Find(x.Contender); err == nil && info.Ours {
			t.Add(x.title()+", delivered and kept", page.Count(x.Size), figure(x.Bytes), page.Missing, figure(x.File))
		}
	}
	return t.String()
}

// Lateness is the table of lateness.
func (r *Run) Lateness() string {
	t := &page.Table{Head: []string{"", "late, p50, ms", "p99, ms", "most, ms", "early", "by at most, ms", "lost", "twice", "Redis, µs", "its server, µs", "a sleep, p99, ms"}}
	for _, x := range r.of(Late) {
		v := x.Calls
		t.Add(x.title(), figure(v.P50), figure(v.P99), figure(v.Most), page.Count(v.Early), figure(max(-v.Least, 0)), page.Count(v.Lost), page.Count(v.Doubled), figure(x.Life), figure(x.LifeNode), figure(x.Sleep))
	}
	return t.String()
}

// Drains is the table of call rates for tasks that are due at the same moment.
func (r *Run) Drains() string {
	t := &page.Table{Head: []string{"", "calls a second", "the last one after, s", "lost", "twice", "Redis, µs", "its server, µs"}}
	for _, x := range r.of(Drain) {
		v := x.Calls
		t.Add(x.title(), page.Count(int(float64(v.Came-1)/v.Seconds)), figure(v.Last), page.Count(v.Lost), page.Count(v.Doubled), figure(x.Life), figure(x.LifeNode))
	}
	return t.String()
}

// Idles is the table of processor time without tasks.
func (r *Run) Idles() string {
	t := &page.Table{Head: []string{"", "Redis, ms a second", "its server, ms a second"}}
	for _, x := range r.of(Idle) {
		t.Add(x.title(), figure(x.IdleRedis), figure(x.IdleNode))
	}
	return t.String()
}

// judged returns a target with a unit, or without. wanted is empty if the row
// is for information only.
func judged(what, wanted string, value float64, unit string, reached bool) page.Target {
	verdict := page.Judge(reached, value)
	if wanted == "" && verdict != page.Unknown {
		verdict = page.None
	}
	if wanted != "" {
		wanted += " " + unit
	}
	return page.Target{
		What: what, Wanted: strings.TrimSpace(wanted), Measured: strings.TrimSpace(figure(value) + " " + unit), Verdict: verdict,
	}
}

func (r *Run) targets() (list []page.Target) {
	batched, p99, wrong, theirs := math.NaN(), math.NaN(), math.NaN(), math.NaN()
	for _, x := range r.of(Create) {
		if x.Contender == "foliot" && x.Each > 1 && (math.IsNaN(batched) || x.Size < 1000) {
			batched = x.rate()
		}
	}
	for _, x := range r.of(Late) {
		switch x.Contender {
		case "foliot":
			p99, wrong = x.Calls.P99, float64(x.Calls.Early+x.Calls.Lost+x.Calls.Doubled)
		case "asynq":
			theirs = x.Calls.P99
		}
	}
	return []page.Target{
		judged("creates a second, in batches over HTTP", "≥ 20 000", batched, "", batched >= 20_000),
		judged("lateness, p99, at 1000 deliveries a second", "≤ 20", p99, "ms", p99 <= 20),
		judged("of these early, lost or twice", "0", wrong, "", wrong == 0),
		judged("p99 of asynq with default settings, in the same run", "", theirs, "ms", true),
	}
}

// Targets is the table of targets.
func (r *Run) Targets() string { return page.Targets(r.targets()).String() }
