package program

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/record"
)

var tested = Program{Name: "bench-x", Results: "x.json", Page: "x.md", Sources: []string{"."}}

// run is a Report with a number.
type run struct {
	record.Head
	N      int
	Failed []string
}

func (r *run) Page() ([]byte, error) { return []byte(strings.Repeat("x", r.N)), nil }
func (r *run) Failures() []string    { return r.Failed }

// atRoot changes to a directory that looks like the root of the repository.
func atRoot(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("go.mod", []byte("module github.com/foliot/foliot\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func settings(t *testing.T, whole bool, args ...string) *Settings {
	t.Helper()
	s := new(Settings)
	if err := Parse(tested.Flags(s, "less"), args); err != nil {
		t.Fatal(err)
	}
	tested.SetDefaults(s, whole)
	return s
}

func TestARunIsWrittenAndCanBeReportedAgain(t *testing.T) {
	atRoot(t)
	r := new(run)
	measure := func(context.Context) error { r.N = 3; return nil }
	if err := tested.Run([]string{"-quick"}, settings(t, true), r, measure); err != nil {
		t.Fatal(err)
	}
	if r.Command != "make bench-x ARGS='-quick'" || !r.Complete || time.Since(r.Started) > time.Minute || r.Go == "" {
		t.Errorf("the head is %+v", r.Head)
	}
	if err := os.Remove("docs/x.md"); err != nil {
		t.Fatal(err)
	}
	again := func(context.Context) error { t.Error("measured again"); return nil }
	if err := tested.Run(nil, settings(t, true, "-report"), new(run), again); err != nil {
		t.Fatal(err)
	}
	if page, err := os.ReadFile("docs/x.md"); err != nil || string(page) != "xxx" {
		t.Errorf("the page is %q, %v", page, err)
	}
}

func TestPartialAndFailedRunsLeaveThePublishedFilesAlone(t *testing.T) {
	atRoot(t)
	broken := errors.New("broken")
	if err := tested.Run(nil, settings(t, true), new(run), func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if err := tested.Run(nil, settings(t, false), new(run), func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	for path, wanted := range map[string]bool{"docs": false, "bench": false, "bin/bench-x/x.md": true, "bin/bench-x/x.json": true} {
		if _, err := os.Stat(filepath.FromSlash(path)); (err == nil) != wanted {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAFailedMeasurementEndsTheProgramWithAnError(t *testing.T) {
	atRoot(t)
	r := new(run)
	measure := func(context.Context) error { r.Failed = []string{"a", "b"}; return nil }
	if err := tested.Run(nil, settings(t, true), r, measure); err == nil || err.Error() != "2 measurements failed" {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat("docs/x.md"); err != nil {
		t.Error(err)
	}
}

func TestAnInterruptedRunKeepsItsResults(t *testing.T) {
	atRoot(t)
	measure := func(ctx context.Context) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if err := tested.Run(nil, settings(t, true), &run{N: 3}, measure); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("got %v", err)
	}
	for path, wanted := range map[string]bool{"docs": false, "bench": false, "bin/bench-x/interrupted.json": true} {
		if _, err := os.Stat(path); (err == nil) != wanted {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestWordsAreThoseThatAreKnownInTheirOrder(t *testing.T) {
	known := []string{"a", "b", "c"}
	for list, want := range map[string]string{"": "abc", "c,a": "ac", "b c": "bc"} {
		if got, err := Among("f", list, known); err != nil || strings.Join(got, "") != want {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
	if _, err := Among("f", "a,x", known); err == nil || err.Error() != `-f: there is no "x": use a, b, c` {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(known, []string{"a", "b", "c"}) {
		t.Error("the known ones were changed")
	}
}
