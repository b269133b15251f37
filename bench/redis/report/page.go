package report

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/redis/contender"
)

//go:embed redis-benchmarks.md.tmpl
var template string

// Write writes the page to path.
func (r *Run) Write(path string) error { return page.Write(path, template, r) }

// Tables returns all tables without the page around them.
func (r *Run) Tables() string {
	return page.Sections([]page.Section{
		{What: "Creates", Text: r.Creates()},
		{What: "Size of a task", Text: r.Sizes()},
		{What: "1000 a second", Text: r.Lateness()},
		{What: "Due in one moment", Text: r.Drains()},
		{What: "Nothing to do", Text: r.Idles()},
		{What: "Targets", Text: r.Targets()},
		{What: "Failures", Text: r.Failures()},
	})
}

// Arguments are those of redis-server.
func (r *Run) Arguments() string { return "redis-server " + strings.Join(r.Settings, " ") }

// Contenders lists the compared programs.
func (r *Run) Contenders() string {
	var b strings.Builder
	for i := range contender.All {
		info := &contender.All[i]
		fmt.Fprintf(&b, "- %s: %s.\n", page.Title(info.Title, info.Ours), info.What)
	}
	return b.String()
}

// Shape describes the load of a kind of measurement.
func (r *Run) Shape(kind string) string {
	for _, x := range r.of(kind) {
		switch kind {
		case Late:
			return fmt.Sprintf("%s tasks, due evenly over %v", page.Count(x.N), x.Over)
		case Idle:
			return x.Over.String()
		}
		return page.Count(x.N) + " tasks"
	}
	return "no tasks"
}

// Failures lists the failures.
func (r *Run) Failures() string { return page.Failures(r.failures()) }

// Err returns an error with the number of failures, or nil.
func (r *Run) Err() error { return page.Failed(len(r.failures())) }

func (r *Run) failures() (list []string) {
	for i := range r.Results {
		if x := &r.Results[i]; x.Failed != "" {
			list = append(list, fmt.Sprintf("%s, %s: %s", x.Contender, x.Kind, x.Failed))
		}
	}
	return list
}
