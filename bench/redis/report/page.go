package report

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/redis/contender"
)

//go:embed redis-benchmarks.md.tmpl
var template string

// Write writes the page to path.
func (r *Run) Write(path string) error {
	text, err := r.page()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func (r *Run) page() ([]byte, error) { return page.Fill(template, r) }

// Tables are all tables without the page around them.
func (r *Run) Tables() string {
	var b strings.Builder
	for _, t := range []struct{ what, text string }{
		{"Creates", r.Creates()},
		{"What a task takes", r.Sizes()},
		{"1000 a second", r.Lateness()},
		{"Due in one moment", r.Drains()},
		{"Nothing to do", r.Idles()},
		{"What was to be reached", r.Targets()},
		{"What failed", r.Failures()},
	} {
		fmt.Fprintf(&b, "%s\n\n%s\n", t.what, t.text)
	}
	return b.String()
}

// Duration is how long the run took.
func (r *Run) Duration() string { return (time.Duration(r.Took) * time.Second).String() }

// Arguments are those of redis-server.
func (r *Run) Arguments() string { return "redis-server " + strings.Join(r.Settings, " ") }

// Versions lists the modules that were measured.
func (r *Run) Versions() string {
	var list []string
	for _, m := range slices.Sorted(maps.Keys(r.Modules)) {
		list = append(list, m+" "+r.Modules[m])
	}
	return strings.Join(list, ", ")
}

// Contenders lists who is compared.
func (r *Run) Contenders() string {
	var b strings.Builder
	for i := range contender.All {
		info := &contender.All[i]
		fmt.Fprintf(&b, "- %s: %s.\n", page.Title(info.Title, info.Ours), info.What)
	}
	return b.String()
}

// Shape says how a kind was measured.
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

// Failures lists what went wrong.
func (r *Run) Failures() string {
	var b strings.Builder
	for i := range r.Results {
		if x := &r.Results[i]; x.Failed != "" {
			fmt.Fprintf(&b, "- Failed: %s, %s: %s\n", x.Contender, x.Kind, x.Failed)
		}
	}
	if b.Len() == 0 {
		return "Nothing failed.\n"
	}
	return b.String()
}
