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

// Report is a run that is measured, and then written as a page. It is kept as JSON.
type Report interface {
	About() *record.Head
	// Tables are what is printed.
	Tables() string
	// Write writes the page.
	Write(path string) error
	// Err counts what went wrong.
	Err() error
}

// Run measures into r, prints it and writes it; or it reads r and writes the page alone, as the settings say. An interrupt ends
// measure's context, and nothing is written then.
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

// Interruptible returns a context that an interrupt ends.
func Interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}
