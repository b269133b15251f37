package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
)

// row is an implementation in the table.
type row struct{ info peer.Info }

// Title implements page.Contestant.
func (r row) Title() string { return r.info.Title }

// Ours implements page.Contestant.
func (r row) Ours() bool { return r.info.Ours }

type column = page.Column[row]

// rows returns the implementations that set timers, and the batches of Foliot.
func (v *view) rows() (list []row) {
	for _, p := range peer.All {
		measured := slices.ContainsFunc(v.Results, func(r record.Result) bool {
			return r.Peer == p.Name && (r.Workload == measure.AddRemove || p.Name == peer.FoliotBatch)
		})
		if measured && p.Name != peer.None {
			list = append(list, row{p})
		}
	}
	return list
}

// Summary is the table of the page.
func (v *view) Summary() string {
	median := func(head, workload string, n, goroutines int, value string) column {
		return column{Head: head, Value: func(r row) float64 { return v.stat(key(workload, r.info.Name, n, goroutines), value).median }}
	}
	return page.Table(v.rows(),
		median("set and remove, ns", measure.AddRemove, million, 1, record.WallNanos),
		median("from 64 goroutines, ns", measure.AddRemove, v.parallelSize(measure.AddRemove), 64, record.WallNanos),
		median("postpone, ns", measure.Heartbeat, million, 1, record.WallNanos),
		median("replace, ns", measure.Replace, million, 1, record.WallNanos),
		median("bytes each", measure.Standing, million, 1, record.Bytes),
		median("collection of 10⁷, ms", measure.Standing, tenfold, 1, record.GCMs),
		median("10⁶ in a second: CPU, ms", measure.Million, million, 1, record.FireMs),
		median("late p99, ms", measure.Accuracy, first(v.sizes(measure.Accuracy)), 1, record.P99Ms),
		column{Head: "early", Text: func(r row) string { return v.share(v.only(measure.Accuracy, r.info.Name)) }},
	)
}

// share returns the share of early timers in the worst trial.
func (v *view) share(k record.Job) string {
	early, fired := v.stat(k, record.Early).max, v.stat(k, record.Fired).median
	if math.IsNaN(early) || early == 0 {
		return page.Figure(early)
	}
	return fmt.Sprintf("%.2g %%", 100*early/fired)
}
