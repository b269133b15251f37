package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

// run measures, prints the table and writes the results and the page. With
// -report it only reads the results and writes the page. An interrupt ends
// Measure's context; then run writes only the results so far, below bin/. It
// returns an error if a measurement failed.
func (p *Program) run(args []string) error {
	s, err := p.parse(args)
	if err != nil {
		return err
	}
	if err := p.atRoot(); err != nil {
		return err
	}
	if s.Report {
		r, err := record.Load(s.Results)
		if err != nil {
			return err
		}
		return p.publish(s, r)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &record.Run{Head: p.head(args), Notes: map[string]string{}}
	err = p.Measure(ctx, s, r, os.Stderr)
	r.End(s.whole && err == nil)
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

func save(path string, r *record.Run) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of the results: %w", err)
	}
	return record.Save(path, r)
}

// publish writes the page of r, and prints its tables.
func (p *Program) publish(s *Settings, r *record.Run) error {
	text, err := p.page(r)
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
	if !r.Complete {
		fmt.Fprintln(os.Stderr, "this run is not complete: it shows that the program works; do not quote its figures")
	}
	fmt.Fprintf(os.Stderr, "written: %s\n", path)
	return nil
}

// Steps measures jobs one after another, each for at most limit, and adds their
// results to r, with the errors of those that fail. It returns an error only if
// ctx ends. expected is about how long a job takes.
func Steps(ctx context.Context, r *record.Run, out io.Writer, jobs []record.Job, limit time.Duration,
	expected func(*record.Job) time.Duration, measure func(context.Context, *record.Job) (record.Outcome, error),
) error {
	var all time.Duration
	for i := range jobs {
		all += expected(&jobs[i])
	}
	progress := NewProgress(out, all)
	for i := range jobs {
		j := &jobs[i]
		progress.Begin(expected(j))
		progress.Say("[%d/%d] %s: %s%s", i+1, len(jobs), j.Contender, j.Part, amount(j))
		limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
		outcome, err := measure(limited, j)
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		result := record.Result{Job: *j, Outcome: outcome}
		if err != nil {
			result.Failed = err.Error()
			progress.Say("FAILED: %s", result.Failed)
		}
		r.Results = append(r.Results, result)
	}
	return nil
}

func amount(j *record.Job) (text string) {
	for _, x := range []struct {
		n    int
		what string
	}{{j.N, ""}, {j.Callers, " callers"}, {j.Each, " in a call"}, {j.Size, " bytes"}, {j.Trial, " as trial"}} {
		if x.n > 1 {
			text += " " + page.Count(x.n) + x.what
		}
	}
	return text
}
