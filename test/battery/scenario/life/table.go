package life

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
)

// row is the cost of a step, for all its tasks together.
type row struct {
	name                string
	tasks               int
	server, redis, peer time.Duration // processor time; peer: of the clients or of the receiver
	written             int64         // bytes
}

// values are the cost for each task. 0 means that it was not measured, or that
// there was none.
func (r row) values() []harness.Figure {
	return []harness.Figure{
		{Name: r.name + ", server", Unit: "us each", Value: harness.Each(r.server, r.tasks)},
		{Name: r.name + ", Redis", Unit: "us each", Value: harness.Each(r.redis, r.tasks)},
		{Name: r.name + ", client or receiver", Unit: "us each", Value: harness.Each(r.peer, r.tasks)},
		{Name: r.name + ", written", Unit: "bytes each", Value: float64(r.written) / float64(r.tasks)},
	}
}

// add keeps a row, and prints its results.
func (l *life) add(r row) {
	l.rows = append(l.rows, r)
	for _, f := range r.values() {
		if f.Value != 0 {
			l.Run.Measured(f.Name, f.Unit, f.Value)
		}
	}
}

// printTable prints the rows as docs/performance.md shows them.
func (l *life) printTable() {
	out := l.Run.Out
	fmt.Fprint(out, "\n| step | server, µs | Redis, µs | client or receiver, µs | written, bytes | kept, bytes |\n|---|--:|--:|--:|--:|--:|\n")
	for _, r := range l.rows {
		fmt.Fprintf(out, "| %s |", r.name)
		for _, f := range r.values() {
			switch {
			case f.Value == 0:
				fmt.Fprint(out, " – |")
			case f.Value < 100:
				fmt.Fprintf(out, " %.1f |", f.Value)
			default:
				fmt.Fprintf(out, " %.0f |", f.Value)
			}
		}
		fmt.Fprintln(out, " – |")
	}
	for _, w := range l.waiting {
		fmt.Fprintf(out, "| waiting: %s | – | – | – | – | %.0f |\n", w.Name, w.Value)
	}
	fmt.Fprintln(out)
}
