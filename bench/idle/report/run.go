// Package report turns the results of a run into tables and
// docs/idle-benchmarks.md.
package report

import (
	"github.com/foliot/foliot/bench/idle/activity"
	"github.com/foliot/foliot/bench/idle/load"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/record"
)

// Run has the results of one call of the program. Parts that were not measured
// are empty.
type Run struct {
	record.Head
	Shape  load.Shape      `json:"shape"`
	Loads  []load.Result   `json:"loads"` // in the order of measurement
	Costs  []activity.Cost `json:"costs"`
	Crowds []virtual.Crowd `json:"crowds"`
	Herds  []virtual.Herd  `json:"herds"`
	Failed []string        `json:"failed"`
}
