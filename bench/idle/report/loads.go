package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/idle/load"
	"github.com/foliot/foliot/bench/idle/verdict"
	"github.com/foliot/foliot/bench/page"
)

// column is a guard's run under load.
type column struct {
	*load.Result
	info *guard.Info
}

// columns are the completed runs. Of the runs without timeouts they include
// only the first.
func (r *Run) columns() (list []column) {
	for i := range r.Loads {
		info, err := guard.Find(r.Loads[i].Guard)
		if err != nil || r.Loads[i].Failed != "" {
			continue
		}
		if info.Name == guard.None && slices.ContainsFunc(list, func(c column) bool { return c.info == info }) {
			continue
		}
		list = append(list, column{&r.Loads[i], info})
	}
	return list
}

// base is the average of the runs without timeouts, and the difference between
// them: noise.
type base struct {
	cpu, noise               float64 // ns for a message
	goroutines, heap, stacks float64
}

func (r *Run) base() base {
	var b base
	var n float64
	least, most := math.Inf(1), math.Inf(-1)
	for i := range r.Loads {
		l := &r.Loads[i]
		if l.Guard != guard.None || l.Failed != "" {
			continue
		}
		n++
		cpu := median(l.PerMessage)
		least, most = min(least, cpu), max(most, cpu)
		b.cpu += cpu
		b.goroutines += float64(l.Goroutines)
		b.heap += float64(l.Heap)
		b.stacks += float64(l.Stack)
	}
	b.cpu, b.goroutines, b.heap, b.stacks = b.cpu/n, b.goroutines/n, b.heap/n, b.stacks/n // without any run, all values are NaN
	b.noise = most - least
	return b
}

// median returns NaN if there is nothing.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// heads returns the titles of the columns, after that of the first.
func heads(first string, columns []column) []string {
	head := []string{first}
	for _, c := range columns {
		head = append(head, title(c.info))
	}
	return head
}

func title(i *guard.Info) string { return page.Title(i.Title, i.Ours) }

// each returns a value of every column.
func each(columns []column, value func(column) float64) (values []float64) {
	for _, c := range columns {
		values = append(values, value(c))
	}
	return values
}

// Closed is the table of the closed connections of each guard.
func (r *Run) Closed() string {
	columns := r.columns()
	if len(columns) == 0 {
		return page.NotMeasured
	}
	t := &page.Table{Head: heads("", columns)}
	whole := func(what string, value func(column) int) {
		row := []string{what}
		for _, c := range columns {
			row = append(row, page.Count(value(c)))
		}
		t.Add(row...)
	}
	whole("connections", func(c column) int { return c.Connections })
	for _, v := range []struct {
		verdict verdict.Verdict
		what    string
	}{
		{verdict.Kept, "alive and kept"},
		{verdict.OnTime, "closed on time"},
		{verdict.Late, "closed late"},
		{verdict.Wrong, "closed wrongly"},
		{verdict.Never, "never closed"},
		{verdict.Blind, "never closed: cannot tell"},
		{verdict.Excused, "closed: the peer was late itself"},
	} {
		if v.verdict == verdict.Excused && !slices.ContainsFunc(columns, func(c column) bool { return c.Counters.Of(v.verdict) > 0 }) {
			continue
		}
		whole(v.what, func(c column) int { return c.Counters.Of(v.verdict) })
	}
	apart := r.apart(columns)
	late := func(what string, value func(*verdict.Counters) float64) {
		t.Less(what, page.Figure, each(columns, func(c column) float64 {
			if c.Counters.Of(verdict.OnTime)+c.Counters.Of(verdict.Late) == 0 {
				return math.NaN()
			}
			return value(&c.Counters)
		}), apart...)
	}
	t.Less("promised: late by, ms", page.Figure, each(columns, func(c column) float64 {
		if c.info.Name == guard.None {
			return math.NaN()
		}
		return millis(c.info.Slack(r.Shape.Timeout))
	}), apart...)
	late("late, median, ms", func(t *verdict.Counters) float64 { return millis(t.P50) })
	late("late, p99, ms", func(t *verdict.Counters) float64 { return millis(t.P99) })
	late("late, most, ms", func(t *verdict.Counters) float64 { return millis(t.Max) })
	if slices.ContainsFunc(columns, func(c column) bool { return c.Stalls > 0 }) {
		whole("stalls: all got a new timeout", func(c column) int { return c.Stalls })
	}
	return t.String()
}

// apart returns the indexes of the columns that cannot win: the one without
// timeouts.
func (*Run) apart(columns []column) (places []int) {
	for i, c := range columns {
		if c.info.Name == guard.None {
			places = append(places, i)
		}
	}
	return places
}

// Kinds is the table of the fates of each kind of peer.
func (r *Run) Kinds() string {
	columns := r.columns()
	if len(columns) == 0 {
		return page.NotMeasured
	}
	t := &page.Table{Head: heads("peers", columns)}
	for k := range client.Kind(client.Kinds) {
		row := []string{fmt.Sprintf("%s: %s", k, page.Count(columns[0].Counters.Total(k)))}
		for _, c := range columns {
			row = append(row, outcome(c.Counters.Kinds[k], k.Alive()))
		}
		t.Add(row...)
	}
	return t.String()
}

// outcome returns the cell of a kind: one word if all connections ended as they
// should.
func outcome(counts [verdict.Verdicts]int, alive bool) string {
	words := [verdict.Verdicts]string{"kept", "on time", "late", "**wrongly closed**", "**never**", "cannot tell", "late themselves"}
	good := verdict.OnTime
	if alive {
		good = verdict.Kept
	}
	text := ""
	others := 0
	for v, n := range counts {
		if n == 0 || verdict.Verdict(v) == good {
			continue
		}
		others++
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s %s", page.Count(n), words[v])
	}
	switch {
	case others == 0:
		return words[good]
	case counts[good] == 0 && others == 1:
		return text[len(firstWord(text))+1:]
	}
	return fmt.Sprintf("%s %s, %s", page.Count(counts[good]), words[good], text)
}

func firstWord(text string) string {
	for i := range text {
		if text[i] == ' ' {
			return text[:i]
		}
	}
	return text
}

// Spent is the table of the server's cost for each guard.
func (r *Run) Spent() string {
	columns := r.columns()
	if len(columns) == 0 {
		return page.NotMeasured
	}
	t, b, apart := &page.Table{Head: heads("", columns)}, r.base(), r.apart(columns)
	perConnection := func(value func(column) int64, base float64) []float64 {
		return each(columns, func(c column) float64 { return (float64(value(c)) - base) / float64(c.Connections) })
	}
	micros := func(ns float64) string { return page.Figure(ns / 1000) }
	t.Less("CPU for a message, µs", micros, each(columns, func(c column) float64 { return median(c.PerMessage) }), apart...)
	row := []string{"of the parts of the window, µs"}
	for _, c := range columns {
		row = append(row, micros(slices.Min(c.PerMessage))+"–"+micros(slices.Max(c.PerMessage)))
	}
	t.Add(row...)
	t.Less("more than without timeouts, %", more, each(columns, func(c column) float64 { return 100 * (median(c.PerMessage)/b.cpu - 1) }), apart...)
	t.Less("CPU in total, s", page.Figure, each(columns, func(c column) float64 { return c.CPU.Seconds() }), apart...)
	t.Less("goroutines more", more, each(columns, func(c column) float64 { return float64(c.Goroutines) - b.goroutines }), apart...)
	t.Less("bytes more for a connection, heap", more, perConnection(func(c column) int64 { return c.Heap }, b.heap), apart...)
	t.Less("the same, stacks", more, perConnection(func(c column) int64 { return c.Stack }, b.stacks), apart...)
	row = []string{"descriptors before, open, after"}
	for _, c := range columns {
		row = append(row, fmt.Sprintf("%s, %s, %s", page.Count(c.Before), page.Count(c.Peak), page.Count(c.After)))
	}
	t.Add(row...)
	return t.String()
}

// Noise describes the noise in the CPU time.
func (r *Run) Noise() string {
	b := r.base()
	if math.IsNaN(b.cpu) || b.noise <= 0 {
		return "The run without timeouts was done once: how much of the CPU time is noise is not known."
	}
	return fmt.Sprintf("The run without timeouts was done twice, first and last. The two are %s µs apart, which is %s %%.\nDifferences of that size are noise.",
		page.Figure(b.noise/1000), page.Figure(100*b.noise/b.cpu))
}
