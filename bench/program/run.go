package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/foliot/foliot/bench/record"
)

// Report is a run that is measured, stored as JSON and written as a page.
type Report interface {
	About() *record.Head
	// Tables returns the tables to print.
	Tables() string
	// Write writes the page.
	Write(path string) error
	// Err returns an error with the number of failures, or nil.
	Err() error
}

// Run measures into r, prints the tables and writes the results and the page.
// With Settings.Report it only reads the results and writes the page. An
// interrupt ends measure's context; then Run writes nothing.
func (p *Program) Run(args []string, s *Settings, r Report, measure func(context.Context) error) error {
	if err := p.AtRoot(); err != nil {
		return err
	}
	page := filepath.Join(s.Docs, p.Page)
	if s.Report {
		if err := record.Load(s.Results, r); err != nil {
			return err
		}
		return r.Write(page)
	}
	ctx, stop := Interruptible()
	defer stop()
	*r.About() = p.Head(args)
	if err := measure(ctx); err != nil {
		return err
	}
	r.About().End(s.Whole)
	fmt.Print(r.Tables())
	for _, dir := range []string{filepath.Dir(s.Results), s.Docs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make the folder of the results: %w", err)
		}
	}
	if err := errors.Join(record.Save(s.Results, r), r.Write(page)); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "written: %s, %s\n", s.Results, page)
	return r.Err()
}

// Interruptible returns a context that ends with an interrupt or SIGTERM.
func Interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}
