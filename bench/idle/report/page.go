package report

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/page"
)

//go:embed idle-benchmarks.md.tmpl
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
		{"What each guard did to its connections", r.Closed()},
		{"The kinds of peers", r.Kinds()},
		{"What it cost the server", r.Spent()},
		{"One use", r.Uses()},
		{"Virtual connections in use", r.Crowd() + "\n" + r.Beside()},
		{"A herd on one tick", r.Herd()},
		{"What was to be reached", r.Targets()},
		{"Who did best", r.Wins()},
	} {
		fmt.Fprintf(&b, "%s\n\n%s\n", t.what, t.text)
	}
	return b.String()
}

// Duration is how long the run took.
func (r *Run) Duration() string { return (time.Duration(r.Took) * time.Second).String() }

// Guards lists what is compared.
func (r *Run) Guards() string {
	var b strings.Builder
	for i := range guard.All {
		info := &guard.All[i]
		fmt.Fprintf(&b, "- %s: %s.\n", title(info), info.What)
	}
	return b.String()
}

// Peers says how many peers of each kind there are.
func (r *Run) Peers() string {
	counts := r.Shape.Counts()
	var parts []string
	for k, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %s", page.Count(n), client.Kind(k)))
	}
	return strings.Join(parts, ", ")
}

// Connections is how many there are.
func (r *Run) Connections() string { return page.Count(r.Shape.Connections) }

// Failures lists what went wrong.
func (r *Run) Failures() string {
	var b strings.Builder
	for _, l := range r.Loads {
		if l.Failed != "" {
			fmt.Fprintf(&b, "- Failed: %s: %s\n", l.Guard, l.Failed)
		}
	}
	for _, f := range r.Failed {
		fmt.Fprintf(&b, "- Failed: %s\n", f)
	}
	if b.Len() == 0 {
		return "Nothing failed.\n"
	}
	return b.String()
}

// Err counts what went wrong.
func (r *Run) Err() error {
	failed := len(r.Failed)
	for _, l := range r.Loads {
		if l.Failed != "" {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%s failed", page.Plural(failed, "measurement"))
}
