// Package report turns what a run has measured into tables and docs/idle-benchmarks.md.
package report

import (
	"github.com/foliot/foliot/bench/idle/activity"
	"github.com/foliot/foliot/bench/idle/load"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/record"
)

// Run is all that one call of the program measured. What was not asked for is empty.
type Run struct {
	record.Head
	Shape  load.Shape      `json:"shape"`
	Loads  []load.Result   `json:"loads"` // in the order they were measured
	Costs  []activity.Cost `json:"costs"`
	Crowds []virtual.Crowd `json:"crowds"`
	Herds  []virtual.Herd  `json:"herds"`
	Failed []string        `json:"failed"`
}
