// Package report turns what a run has measured into tables and docs/idle-benchmarks.md.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/foliot/foliot/bench/idle/activity"
	"github.com/foliot/foliot/bench/idle/load"
	"github.com/foliot/foliot/bench/idle/virtual"
	"github.com/foliot/foliot/bench/record"
)

// Run is all that one call of the program measured. What was not asked for is empty.
type Run struct {
	Started  time.Time      `json:"started"`
	Took     float64        `json:"took"` // seconds
	Command  string         `json:"command"`
	Commit   string         `json:"commit"`
	Go       string         `json:"go"`
	Machine  record.Machine `json:"machine"`
	Complete bool           `json:"complete"`

	Shape  load.Shape      `json:"shape"`
	Loads  []load.Result   `json:"loads"` // in the order they were measured
	Costs  []activity.Cost `json:"costs"`
	Crowds []virtual.Crowd `json:"crowds"`
	Herds  []virtual.Herd  `json:"herds"`
	Failed []string        `json:"failed"`
}

// Save writes r to path.
func (r *Run) Save(path string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

// Load reads what Save wrote.
func Load(path string) (*Run, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	r := new(Run)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read the results in %s: %w", path, err)
	}
	return r, nil
}
