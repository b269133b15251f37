package report

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/page"
)

//go:embed idle-benchmarks.md.tmpl
var template string

// Write writes the page to path.
func (r *Run) Write(path string) error { return page.Write(path, template, r) }

// Tables are all tables without the page around them.
func (r *Run) Tables() string {
	return page.Sections([]page.Section{
		{What: "Connections closed by each guard", Text: r.Closed()},
		{What: "The kinds of peers", Text: r.Kinds()},
		{What: "Cost for the server", Text: r.Spent()},
		{What: "One use", Text: r.Uses()},
		{What: "Virtual connections in use", Text: r.Crowd() + "\n" + r.GroupShare()},
		{What: "A herd on one tick", Text: r.Herd()},
		{What: "Targets", Text: r.Targets()},
		{What: "Best results", Text: r.Wins()},
	})
}

// Guards lists the compared guards.
func (r *Run) Guards() string {
	var b strings.Builder
	for i := range guard.All {
		info := &guard.All[i]
		fmt.Fprintf(&b, "- %s: %s.\n", title(info), info.What)
	}
	return b.String()
}

// Peers returns the number of peers of each kind.
func (r *Run) Peers() string {
	counts := r.Shape.Counts()
	var parts []string
	for k, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %s", page.Count(n), client.Kind(k)))
	}
	return strings.Join(parts, ", ")
}

// Connections returns their number.
func (r *Run) Connections() string { return page.Count(r.Shape.Connections) }

// Failures lists the failures.
func (r *Run) Failures() string { return page.Failures(r.failures()) }

// Err returns an error with the number of failures.
func (r *Run) Err() error { return page.Failed(len(r.failures())) }

func (r *Run) failures() (list []string) {
	for _, l := range r.Loads {
		if l.Failed != "" {
			list = append(list, l.Guard+": "+l.Failed)
		}
	}
	return append(list, r.Failed...)
}
