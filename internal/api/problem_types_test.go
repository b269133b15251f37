package api

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/api/decode"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// A row for a code that no reply has would document nothing. So each code is a
// string in a shipped file other than problem_types.go.
func TestEveryProblemTypeIsUsed(t *testing.T) {
	var code strings.Builder
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "problem_types.go" {
			return err
		}
		b, err := os.ReadFile(path)
		code.Write(b)
		return err
	})
	fatal.If(t, err)
	for _, p := range problemTypes {
		if !strings.Contains(code.String(), strconv.Quote(p.Code)) {
			t.Errorf("no code in internal returns the problem %q", p.Code)
		}
	}
}

// Programs need not read the sentence of a problem.
func TestProblemsHaveFactsForPrograms(t *testing.T) {
	limit := 5.0
	for name, c := range map[string]struct {
		err  error
		want wire.Problem
	}{
		"an unknown field has a suggestion": {
			decode.Within([]byte("retry"), decode.Within([]byte("max_attempt"), noSuchField([]byte("max_attempt"), retryFields))),
			wire.Problem{Code: "unknown_field", Field: "retry.max_attempt", Suggestion: "max_attempts"},
		},
		"a word has the allowed ones": {
			decode.Within([]byte("priority"), notAllowed("bad_priority", "", []string{"high", "low"})),
			wire.Problem{Code: "bad_priority", Field: "priority", Allowed: []string{"high", "low"}},
		},
		"a missing record has its kind and name": {
			&settings.MissingError{What: "queue", Name: "q"},
			wire.Problem{Code: "not_found", Kind: "queue", Name: "q"},
		},
		"a missing task has its kind":    {task.ErrNotFound, wire.Problem{Code: "not_found", Kind: "task"}},
		"a missing namespace has a code": {&settings.MissingError{What: "namespace", Name: "n"}, wire.Problem{Code: "unknown_namespace", Kind: "namespace", Name: "n"}},
		"a busy record has its kind":     {&settings.BusyError{What: "queue", Name: "q", Why: "it is being purged"}, wire.Problem{Code: "busy", Kind: "queue", Name: "q"}},
		"a quota has its value":          {&task.QuotaError{Quota: task.QuotaPending, Limit: 5}, wire.Problem{Code: "quota_exceeded", Field: task.QuotaPending, Limit: &limit}},
		"a rate has its value":           {&settings.RateError{Rate: settings.CreateRate, Limit: 5}, wire.Problem{Code: "rate_exceeded", Field: string(settings.CreateRate), Limit: &limit}},
		"a task has its id and state":    {&task.StateError{ID: "i", State: task.Dead, Code: task.CodeDead}, wire.Problem{Code: task.CodeDead, ID: "i", State: "dead"}},
	} {
		got := problemOf(c.err)
		if got.Type != wire.ProblemDocs+got.Code {
			t.Errorf("%s: type %q", name, got.Type)
		}
		c.want.Type, c.want.Title, c.want.Status, c.want.Detail = got.Type, got.Title, got.Status, got.Detail
		if fmt.Sprintf("%+v", facts(got)) != fmt.Sprintf("%+v", facts(c.want)) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// facts returns p with values in place of pointers.
func facts(p wire.Problem) []any {
	limit := 0.0
	if p.Limit != nil {
		limit = *p.Limit
	}
	p.Limit = nil
	return []any{p, limit}
}

// If the store cannot be reached, the outcome of the last step of a backfill is
// unknown.
func TestAFailedBackfillReportsItsProgress(t *testing.T) {
	done := wire.BackfillReply{Created: 4, Existing: 2, Instants: 9}
	for want, err := range map[string]error{
		"; created at least 4 of 9, and 2 existed: ": fmt.Errorf("%w: the Redis at 192.0.2.1:6379", task.ErrUnavailable),
		"; created 4 of 9, and 2 existed: ":          fmt.Errorf("%w: no memory at 192.0.2.1:6379", task.ErrFull),
	} {
		if p := problemOf(&backfillError{err, done}); p.Status != 503 || !strings.Contains(p.Detail, want) || strings.Contains(p.Detail, "192.0.2.1") {
			t.Errorf("%v: %+v", err, p)
		}
	}
}
