package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/foliot/foliot/bench/idle/activity"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/page"
)

// cost finds the cost of one use for a guard.
func (r *Run) cost(name string, goroutines int, written bool) (activity.Cost, bool) {
	for _, c := range r.Costs {
		if c.Guard == name && c.Goroutines == goroutines && c.Written == written {
			return c, true
		}
	}
	return activity.Cost{}, false
}

// net returns the cost of one use, minus the calls of the harness, which are
// also in the cost of the empty guard.
func (r *Run) net(name string, goroutines int, written bool) (nanos, allocs float64) {
	c, ok := r.cost(name, goroutines, written)
	none, also := r.cost(guard.None, goroutines, written)
	if !ok || !also {
		return math.NaN(), math.NaN()
	}
	return max(0, c.Nanos-none.Nanos), c.Allocs
}

// Uses is the table of the cost of one use.
func (r *Run) Uses() string {
	var columns []column
	for i := range guard.All {
		if _, ok := r.cost(guard.All[i].Name, 1, false); ok {
			columns = append(columns, column{info: &guard.All[i]})
		}
	}
	if len(columns) == 0 {
		return page.NotMeasured
	}
	t, apart := &page.Table{Head: heads("ns", columns)}, r.apart(columns)
	for _, goroutines := range []int{1, 64} {
		for _, use := range []struct {
			what    string
			written bool
		}{{"a read", false}, {"a read and a write", true}} {
			t.Less(fmt.Sprintf("%s, %s", use.what, page.Plural(goroutines, "goroutine")), page.Figure, each(columns, func(c column) float64 {
				cost, _ := r.cost(c.info.Name, goroutines, use.written)
				return cost.Nanos
			}), apart...)
		}
	}
	t.Less("allocations", page.Figure, each(columns, func(c column) float64 {
		cost, _ := r.cost(c.info.Name, 1, true)
		return cost.Allocs
	}), apart...)
	return t.String()
}

func (r *Run) crowd(w virtual.Watch) (virtual.Crowd, bool) {
	for _, c := range r.Crowds {
		if c.Watch == w {
			return c, true
		}
	}
	return virtual.Crowd{}, false
}

// share is the CPU time of a crowd as a percentage of one processor's.
func share(c virtual.Crowd) float64 { return 100 * c.CPU.Seconds() / c.Window.Seconds() }

// groupShare returns the cost of a group without that of the touches, as a
// percentage of one processor.
func (r *Run) groupShare() float64 {
	near, ok := r.crowd(virtual.Near)
	far, also := r.crowd(virtual.Far)
	if !ok || !also {
		return math.NaN()
	}
	return share(near) - share(far)
}

// Crowd is the table of many virtual connections.
func (r *Run) Crowd() string {
	if len(r.Crowds) == 0 {
		return page.NotMeasured
	}
	t := &page.Table{Head: []string{"", "CPU, % of one", "touches each second", "wake-ups each second", "asked about", "bytes each", "full collection, ms"}}
	for _, w := range []struct {
		watch virtual.Watch
		what  string
	}{
		{virtual.Near, "a timeout of twice the time between touches"},
		{virtual.Far, "a timeout that is never over"},
		{virtual.Loose, "no group: the loop that touches"},
	} {
		c, ok := r.crowd(w.watch)
		if !ok {
			continue
		}
		seconds := c.Window.Seconds()
		t.Add(w.what, fmt.Sprintf("%.2f", share(c)), page.Count(int(float64(c.Touches)/seconds)), page.Count(int(float64(c.Switches)/seconds)),
			page.Count(int(c.Asked)), page.Figure(c.Bytes), page.Figure(millis(c.GC)))
	}
	return t.String()
}

// GroupShare describes the cost of the group.
func (r *Run) GroupShare() string {
	if math.IsNaN(r.groupShare()) {
		return ""
	}
	return fmt.Sprintf("The group's own share is the difference between the first two lines: **%.2f %% of one processor**.\n", r.groupShare())
}

// herds returns the trials of a herd with this configuration.
func (r *Run) herds(c virtual.HerdConfig) (trials []virtual.Herd) {
	for _, h := range r.Herds {
		if h.HerdConfig == c {
			trials = append(trials, h)
		}
	}
	return trials
}

// middle returns the trial with the median latest bystander.
func middle(trials []virtual.Herd) virtual.Herd {
	sorted := slices.SortedFunc(slices.Values(trials), func(a, b virtual.Herd) int { return int(a.Max - b.Max) })
	return sorted[len(sorted)/2]
}

// shift returns the delay that a herd adds to the latest bystander of other
// ticks.
func (r *Run) shift(c virtual.HerdConfig) time.Duration {
	calm := c
	calm.Herd, calm.Work, calm.MaxPerTick = 0, 0, 0
	if len(r.herds(c)) == 0 || len(r.herds(calm)) == 0 {
		return -1
	}
	return max(0, middle(r.herds(c)).Max-middle(r.herds(calm)).Max)
}

// Herd is the table of herds.
func (r *Run) Herd() string {
	if len(r.Herds) == 0 {
		return page.NotMeasured
	}
	t := &page.Table{Head: []string{
		"herd; ms", "late, median", "late, p99", "late, most", "shift", "the same tick, most", "the herd took", "stalls", "early", "left open",
	}}
	var done []virtual.HerdConfig
	for _, h := range r.Herds {
		if slices.Contains(done, h.HerdConfig) {
			continue
		}
		done = append(done, h.HerdConfig)
		trials := r.herds(h.HerdConfig)
		m := middle(trials)
		stalls, early, open := 0, 0, 0
		for _, trial := range trials {
			stalls, early, open = stalls+trial.Stalls, early+trial.Early, open+trial.Open
		}
		shift, passed := page.Figure(millis(r.shift(h.HerdConfig))), page.Figure(millis(m.Passed))
		if h.Herd == 0 {
			shift, passed = page.Missing, page.Missing
		}
		t.Add(describe(h.HerdConfig), page.Figure(millis(m.P50)), page.Figure(millis(m.P99)), page.Figure(millis(m.Max)), shift,
			page.Figure(millis(m.Same)), passed, page.Count(stalls), page.Count(early), page.Count(open))
	}
	return t.String()
}

func describe(c virtual.HerdConfig) string {
	if c.Herd == 0 {
		return "none"
	}
	text := page.Count(c.Herd)
	if c.Work > 0 {
		text += fmt.Sprintf(", %v to close each", c.Work)
	}
	if c.MaxPerTick > 0 {
		text += fmt.Sprintf(", MaxPerTick %s", page.Count(c.MaxPerTick))
	}
	return text
}
