package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Head describes a run: its time, command, code and machine.
type Head struct {
	Started  time.Time         `json:"started"`
	Took     float64           `json:"took"` // seconds
	Command  string            `json:"command"`
	Commit   string            `json:"commit"`
	Go       string            `json:"go"`
	Modules  map[string]string `json:"modules,omitempty"` // versions of other modules
	Machine  Machine           `json:"machine"`
	Complete bool              `json:"complete"` // everything was measured
}

// End records the end of the run, and whether everything was measured.
func (h *Head) End(complete bool) {
	h.Took, h.Complete = time.Since(h.Started).Round(time.Second).Seconds(), complete
}

// Duration returns the duration of the run.
func (h *Head) Duration() string { return (time.Duration(h.Took) * time.Second).String() }

// Versions lists the other modules.
func (h *Head) Versions() string {
	var list []string
	for _, m := range slices.Sorted(maps.Keys(h.Modules)) {
		list = append(list, m+" "+h.Modules[m])
	}
	return strings.Join(list, ", ")
}

// joins put an element of a list on one line. JSON has no tab and no end of line
// inside a string.
var joins = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`,\n\t{3,}`), ", "},
	{regexp.MustCompile(`\n\t{3,}`), ""},
	{regexp.MustCompile(`\n\t\t([}\]])`), "$1"},
}

// Save writes a run to path. Each element of its lists is on a line of its own,
// so that diffs are readable.
func Save(path string, run *Run) error {
	text, err := json.MarshalIndent(run, "", "\t")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	for _, join := range joins {
		text = join.pattern.ReplaceAll(text, []byte(join.by))
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

// Load reads a run that Save wrote.
func Load(path string) (*Run, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	run := new(Run)
	if err := json.Unmarshal(text, run); err != nil {
		return nil, fmt.Errorf("read the results in %s: %w", path, err)
	}
	return run, nil
}
