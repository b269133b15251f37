package report

import (
	"fmt"
	"math"

	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/embed/trial"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

// row is a contender with its results in a table.
type row struct {
	info *contender.Info
	of   func(kind string) []*Result
}

// rows returns the contenders that have results of one of the kinds.
func (r *Run) rows(kinds ...string) (list []row) {
	for i := range contender.All {
		info := &contender.All[i]
		for _, kind := range kinds {
			if len(r.of(info.Name, kind)) > 0 {
				list = append(list, row{info, func(kind string) []*Result { return r.of(info.Name, kind) }})
				break
			}
		}
	}
	return list
}

type column = page.Column[row]

var titles = column{Cell: func(x row) string { return page.Title(x.info.Title, x.info.Ours) }}

// figure is a column of the median of a value.
func figure(head, kind, value string) column {
	return column{Head: head, Cell: func(x row) string { return page.Figure(median(x.of(kind), value)) }}
}

// count is a column of whole numbers. A missing value is 0 if the measurement was
// made.
func count(head, kind, value string) column {
	return column{Head: head, Cell: func(x row) string {
		list := x.of(kind)
		if len(list) == 0 {
			return page.Missing
		}
		return page.Count(int(zero(median(list, value))))
	}}
}

func zero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// rate is a column of creates a second with a number of callers.
func rate(head string, callers int, value string) column {
	return column{Head: head, Cell: func(x row) string {
		var list []*Result
		for _, y := range x.of(trial.Create) {
			if y.Callers == callers {
				list = append(list, y)
			}
		}
		return page.Figure(median(list, value))
	}}
}

// Creates is the table of creates a second.
func (r *Run) Creates() string {
	return page.Table(r.rows(trial.Create, trial.Batch), titles,
		rate("1 goroutine", 1, trial.Rate), rate("16 goroutines", 16, trial.Rate),
		column{Head: "in batches of 1000", Cell: func(x row) string {
			if x.info.Many == "" {
				return "no such call"
			}
			return page.Figure(median(x.of(trial.Batch), trial.Rate))
		}},
		rate("the program, µs a task", 16, trial.OwnUs), rate("its server, µs a task", 16, trial.ServerUs))
}

// Sizes is the table of bytes per task.
func (r *Run) Sizes() string {
	return page.Table(r.rows(trial.Standing), titles,
		column{Head: "kept in", Text: true, Cell: func(x row) string {
			return map[string]string{
				contender.Directory: "files", contender.Redis: "memory of Redis", contender.Postgres: "table and indexes",
			}[x.info.Store]
		}},
		figure("bytes", trial.Standing, trial.Store), figure("in the append-only file", trial.Standing, trial.File),
		figure("write-ahead log, MB in all", trial.Standing, trial.LogMB),
		column{Head: "memory of the program", Cell: func(x row) string {
			return page.Figure(max(median(x.of(trial.Standing), trial.Heap), 0))
		}})
}

// Handled is the table of a backlog.
func (r *Run) Handled() string {
	return page.Table(r.rows(trial.Handle), titles,
		figure("handled a second", trial.Handle, trial.Rate),
		figure("the first after, s", trial.Handle, trial.FirstS), figure("the last after, s", trial.Handle, trial.LastS),
		figure("the program, µs a task", trial.Handle, trial.OwnUs), figure("its server, µs a task", trial.Handle, trial.ServerUs),
		count("lost", trial.Handle, record.Lost), count("twice", trial.Handle, record.Doubled))
}

// Lateness is the table of lateness for a kind.
func (r *Run) Lateness(kind string) string {
	return page.Table(r.rows(kind), titles,
		figure("late, p50, ms", kind, record.P50Ms), figure("p99, ms", kind, record.P99Ms), figure("most, ms", kind, record.MaxMs),
		count("early", kind, record.Early), figure("by at most, ms", kind, record.EarliestMs),
		count("lost", kind, record.Lost), count("twice", kind, record.Doubled),
		figure("the program, µs a task", kind, trial.OwnUs), figure("its server, µs a task", kind, trial.ServerUs))
}

// Idles is the table of processor time while tasks only wait.
func (r *Run) Idles() string {
	return page.Table(r.rows(trial.Idle), titles,
		figure("the program, ms a second", trial.Idle, trial.OwnMs), figure("its server, ms a second", trial.Idle, trial.ServerMs))
}

// Facts is the table of the abilities of the libraries.
func (r *Run) Facts() string {
	return page.Table(r.rows(trial.Facts, trial.Plant, trial.Hold), titles,
		text("a name is unique", trial.Unique), text("move", trial.Moves), text("cancel", trial.Cancels),
		column{Head: "cancels that were promises, promises broken", Text: true, Cell: func(x row) string {
			list := x.of(trial.Facts)
			if len(list) == 0 {
				return page.Missing
			}
			n := func(name string) int { return int(zero(median(list, name))) }
			return fmt.Sprintf("%s of %s, %s", page.Count(n(trial.Cancelled)), page.Count(n(trial.Cancelled)+n(trial.Refused)), page.Count(n(trial.Broken)))
		}},
		column{Head: "survives kill -9", Text: true, Cell: survives})
}

// text is a column of answers.
func text(head, name string) column {
	return column{Head: head, Text: true, Cell: func(x row) string {
		for _, y := range x.of(trial.Facts) {
			return y.Texts[name]
		}
		return page.Missing
	}}
}

func survives(x row) string {
	for _, y := range x.of(trial.Plant) {
		if lost := int(y.Values[record.Lost]); lost > 0 {
			return fmt.Sprintf("**no**: %s of %s lost", page.Count(lost), page.Count(y.N))
		}
		return "yes"
	}
	return page.Missing
}

// Kills is the table of the tasks after the death of their program.
func (r *Run) Kills() string {
	return page.Table(r.rows(trial.Plant, trial.Hold), titles,
		column{Head: "the last waiting task, ms", Cell: func(x row) string {
			list := x.of(trial.Plant)
			return page.Figure(min(median(list, record.MaxMs), 1000*median(list, trial.LastS)))
		}},
		count("lost", trial.Plant, record.Lost), count("early", trial.Plant, record.Early), count("twice", trial.Plant, record.Doubled),
		column{Head: "the task that ran, again after, s", Cell: func(x row) string {
			for _, y := range x.of(trial.Hold) {
				if again, ok := y.Values[trial.FirstS]; ok {
					return page.Figure(again)
				}
				return "not within " + y.Limit.String()
			}
			return page.Missing
		}})
}

// Clues lists the calls of each library that could move a task.
func (r *Run) Clues() (list []string) {
	for _, x := range r.rows(trial.Facts) {
		for _, y := range x.of(trial.Facts) {
			found := y.Texts[trial.Clues]
			if found == "" {
				found = "none"
			}
			list = append(list, x.info.Title+": "+found)
		}
	}
	return list
}
