package program

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

// job is the job of a program that measures nothing else.
var job = record.Job{Part: "p", Contender: "ours"}

// tested returns a program that measures a number of bytes, or fails.
func tested(bytes float64, err error) *Program {
	return &Program{
		Name: "bench-x", Results: "x.json", Page: "x.md", Sources: []string{"."}, Parts: []string{"p", "q"},
		Contenders: []record.Contender{{Name: "ours", Title: "Ours", Ours: true}, {Name: "theirs", Title: "Theirs"}},
		Measure: func(ctx context.Context, _ *Settings, r *record.Run, out io.Writer) error {
			return Steps(ctx, r, out, []record.Job{job}, time.Minute, func(*record.Job) time.Duration { return time.Second },
				func(context.Context, *record.Job) (record.Outcome, error) {
					return record.Outcome{Values: record.Values{record.Bytes: bytes}}, err
				})
		},
		Template: "{{.Summary}}{{template \"failures\" .}}{{define \"facts\"}}{{end}}",
		Columns: func(r *record.Run) []page.Column {
			return []page.Column{{Head: "bytes", Value: func(name string) float64 {
				return r.Median(record.Job{Contender: name}, record.Bytes)
			}}}
		},
	}
}

// atRoot changes to a directory that looks like the root of the repository.
func atRoot(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("go.mod", []byte("module github.com/foliot/foliot\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestARunIsWrittenAndCanBeReportedAgain(t *testing.T) {
	atRoot(t)
	p := tested(3, nil)
	if err := p.run(nil); err != nil {
		t.Fatal(err)
	}
	r, err := record.Load("bench/results/x.json")
	if err != nil || r.Command != "make bench-x" || !r.Complete || time.Since(r.Started) > time.Minute || r.Go == "" {
		t.Errorf("the head is %+v, %v", r.Head, err)
	}
	if err := os.WriteFile("docs/x.md", []byte("by hand"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Stale("."); err == nil || !strings.Contains(err.Error(), "make bench-x ARGS=-report") {
		t.Errorf("a page that was edited by hand: %v", err)
	}
	p.Measure = nil
	if err := errors.Join(p.run([]string{"-report"}), p.Stale(".")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile("docs/x.md"); err != nil || !strings.Contains(string(text), "| **Ours** | 3.0 |") {
		t.Errorf("the page is %q, %v", text, err)
	}
}

func TestPartialRunsAndErrorsLeaveThePublishedFilesAlone(t *testing.T) {
	atRoot(t)
	broken := errors.New("broken")
	p := tested(3, nil)
	p.Measure = func(context.Context, *Settings, *record.Run, io.Writer) error { return broken }
	if err := p.run(nil); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if err := tested(3, nil).run([]string{"-quick"}); err != nil {
		t.Error(err)
	}
	for path, wanted := range map[string]bool{"docs": false, "bench": false, "bin/bench-x/x.md": true, "bin/bench-x/x.json": true} {
		if _, err := os.Stat(filepath.FromSlash(path)); (err == nil) != wanted {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAFailedMeasurementIsOnThePageAndEndsTheProgramWithAnError(t *testing.T) {
	atRoot(t)
	if err := tested(3, errors.New("it broke")).run(nil); err == nil || err.Error() != "1 measurement failed" {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile("docs/x.md"); err != nil || !strings.Contains(string(text), page.NotMeasured+"\n- Failed: ours, p: it broke") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestAnInterruptedRunKeepsItsResults(t *testing.T) {
	atRoot(t)
	p := tested(3, nil)
	p.Measure = func(ctx context.Context, _ *Settings, r *record.Run, _ io.Writer) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if err := p.run(nil); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("got %v", err)
	}
	for path, wanted := range map[string]bool{"docs": false, "bench": false, "bin/bench-x/interrupted.json": true} {
		if _, err := os.Stat(path); (err == nil) != wanted {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestOnlyTheWholeSetIsPublished has flags, and the folder of the page.
func TestOnlyTheWholeSetIsPublished(t *testing.T) {
	for args, want := range map[string]string{
		"": "docs", "-report": "docs", "-quick": "bin/bench-x", "-contender ours": "bin/bench-x", "-part q": "bin/bench-x",
		"-contender ours,theirs": "docs", "-quick -docs elsewhere": "elsewhere",
	} {
		if s, err := tested(3, nil).parse(strings.Fields(args)); err != nil || s.Docs != want {
			t.Errorf("%q: %+v, %v", args, s, err)
		}
	}
	s, err := tested(3, nil).parse([]string{"-contender", "theirs ours", "-part", "q"})
	if err != nil || !slices.Equal(s.Contenders, []string{"ours", "theirs"}) || s.Wants("p") || !s.Wants("q") {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	for args, want := range map[string]string{
		"-contender x": `-contender: there is no "x": use ours, theirs`, "-part q,x": `-part: there is no "x": use p, q`, "more": `"more" is not a flag`,
	} {
		if _, err := tested(3, nil).parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
	if _, err := tested(3, nil).parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: got %v", err)
	}
}

func TestItIsRunFromTheRoot(t *testing.T) {
	if err := tested(3, nil).run([]string{"-report"}); err == nil || !strings.Contains(err.Error(), "make bench-x") {
		t.Errorf("got %v, want an error that says how to call it", err)
	}
}
