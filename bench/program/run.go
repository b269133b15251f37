package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

// Report is a run that is measured, stored as JSON and written as a page.
type Report interface {
	About() *record.Head
	// Page returns the text of the page.
	Page() ([]byte, error)
	// Failures returns a text for each measurement that failed.
	Failures() []string
}

// Run measures into r, prints the tables and writes the results and the page.
// With Settings.Report it only reads the results and writes the page. An
// interrupt ends measure's context; then Run writes only the results so far,
// below bin/. Run returns an error if a measurement failed.
func (p *Program) Run(args []string, s *Settings, r Report, measure func(context.Context) error) error {
	if err := p.AtRoot(); err != nil {
		return err
	}
	if s.Report {
		if err := record.Load(s.Results, r); err != nil {
			return err
		}
		return p.publish(s, r)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	*r.About() = p.Head(args)
	err := measure(ctx)
	r.About().End(s.Whole && err == nil)
	if ctx.Err() != nil {
		path := filepath.Join("bin", p.Name, "interrupted.json")
		return errors.Join(fmt.Errorf("interrupted: the results so far are in %s, docs were not changed", path), save(path, r))
	}
	if err != nil {
		return err
	}
	if err := errors.Join(save(s.Results, r), p.publish(s, r)); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "results: %s\n", s.Results)
	if n := len(r.Failures()); n > 0 {
		return fmt.Errorf("%s failed", page.Plural(n, "measurement"))
	}
	return nil
}

func save(path string, r Report) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of the results: %w", err)
	}
	return record.Save(path, r)
}

// publish writes the page of r, and prints its tables.
func (p *Program) publish(s *Settings, r Report) error {
	text, err := r.Page()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Docs, 0o755); err != nil {
		return fmt.Errorf("make the folder of the page: %w", err)
	}
	path := filepath.Join(s.Docs, p.Page)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	fmt.Print(page.Tables(text))
	if !r.About().Complete {
		fmt.Fprintln(os.Stderr, "this run is not complete: it shows that the program works; do not quote its figures")
	}
	fmt.Fprintf(os.Stderr, "written: %s\n", path)
	return nil
}
