// Package program is the common part of the measuring programs: their flags, the
// places of their files, the loop over their measurements, and the page.
package program

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

// Program describes one of them. It runs in the root of the repository.
type Program struct {
	Name       string   // target of make
	Results    string   // the published results, a file in bench/results
	Page       string   // the file in docs/ that it writes
	What       string   // a sentence for the help text
	Took       string   // the duration of a complete run, in words
	Sources    []string // paths of the measured code
	Modules    []string // other modules; the page shows their versions
	Contenders []record.Contender
	Parts      []string

	// Measure measures the contenders and parts of the settings into a run, and
	// prints its progress. An error means that it could not continue.
	Measure func(ctx context.Context, s *Settings, r *record.Run, out io.Writer) error

	Template string // of the page: a view is its data
	Columns  func(*record.Run) []page.Column
	Extra    func(*record.Run) map[string]string // further values for the template, or nil
}

// view is the data of a template.
type view struct {
	*record.Run
	Summary string   // the table
	Losses  []string // the columns in which Foliot is not the best
	Extra   map[string]string
}

// page returns the text of the page for a run.
func (p *Program) page(r *record.Run) ([]byte, error) {
	columns := p.Columns(r)
	v := view{Run: r, Summary: page.Table(p.Contenders, columns), Losses: page.Losses(p.Contenders, columns)}
	if p.Extra != nil {
		v.Extra = p.Extra(r)
	}
	return page.Fill(p.Template, v)
}

// Stale returns an error if the page in the repository is not that of the
// results in it. root is the root of the repository.
func (p *Program) Stale(root string) error {
	r, err := record.Load(filepath.Join(root, "bench", "results", p.Results))
	if err != nil {
		return err
	}
	want, err := p.page(r)
	if err != nil {
		return err
	}
	if got, err := os.ReadFile(filepath.Join(root, "docs", p.Page)); err != nil || !bytes.Equal(got, want) {
		return fmt.Errorf("docs/%s is not the page of the results: run make %s ARGS=-report (%v)", p.Page, p.Name, err)
	}
	return nil
}

// Main runs the program and ends the process.
func (p *Program) Main() {
	if err := p.run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// atRoot returns an error if the working directory is not the root of the
// repository: the files would go to the wrong place.
func (p *Program) atRoot() error {
	data, err := os.ReadFile("go.mod")
	if err != nil || !strings.HasPrefix(string(data), "module github.com/foliot/foliot\n") {
		return errors.New("not in the root of the repository: go there and call make " + p.Name)
	}
	return nil
}

// head returns the description of a run that starts now.
func (p *Program) head(args []string) record.Head {
	return record.Head{
		Started: time.Now().UTC().Truncate(time.Second),
		Command: p.command(args),
		Commit:  p.commit(),
		Go:      runtime.Version(),
		Modules: p.versions(),
		Machine: record.ThisMachine(),
	}
}

func (p *Program) command(args []string) string {
	if len(args) == 0 {
		return "make " + p.Name
	}
	return fmt.Sprintf("make %s ARGS='%s'", p.Name, strings.Join(args, " "))
}

// commit returns the measured commit, and whether the measured files have
// uncommitted changes.
func (p *Program) commit() string {
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	paths := append([]string{"status", "--porcelain", "--", ":!bench/results"}, p.Sources...)
	changed, err := exec.Command("git", paths...).Output() //nolint:gosec // the paths are constants
	if err != nil || len(changed) > 0 {
		name += ", with changes"
	}
	return name
}

func (p *Program) versions() map[string]string {
	versions := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versions
	}
	for _, m := range info.Deps {
		if slices.Contains(p.Modules, m.Path) {
			versions[m.Path] = m.Version
		}
	}
	return versions
}
