package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/cli/exit"
)

func TestWithJSONAnErrorIsOneObject(t *testing.T) {
	s := newSession(t)
	s.must("", "add http://127.0.0.1:9/ --in 1h --name a")
	for _, c := range []struct {
		line string
		want exit.Report
	}{
		{"-o json get b", exit.Report{
			Code: "not_found", ExitCode: 3,
			Message: "get b: no such task in the namespace default: it was never created, or its record was removed; `foliot ls` lists the existing ones",
			Problem: &exit.Problem{Status: 404, Code: "not_found", Kind: "task"},
		}},
		{"add http://127.0.0.1:9/ --in 1h --name a -o json", exit.Report{Code: "conflict", ExitCode: 4, Problem: &exit.Problem{Status: 409, Code: "exists", State: "scheduled"}}},
		{"ls --reason x -o json", exit.Report{Code: "invalid_input", ExitCode: 2, Problem: &exit.Problem{Status: 400, Code: "bad_parameter", Field: "reason"}}},
		{"ls --limit -1 -o json", exit.Report{Code: "invalid_input", ExitCode: 2, Message: "--limit: -1 is negative; 0 lists all"}},
		{"lst -o json", exit.Report{Code: "invalid_input", ExitCode: 2, Message: `unknown command lst, did you mean one of "get", "ls"?`, Hint: "see `foliot --help`"}},
		{"ls --quue=a --output=json", exit.Report{Code: "invalid_input", ExitCode: 2, Message: `unknown flag --quue, did you mean "--queue"?`, Hint: "see `foliot ls --help`"}},
		{"-ojson get", exit.Report{Code: "invalid_input", ExitCode: 2, Message: `expected "<name>"`, Hint: "see `foliot get --help`"}},
		{"ls --server http://127.0.0.1:1 -o json", exit.Report{
			Code: "unreachable", ExitCode: 5, Message: "list tasks: no reply from http://127.0.0.1:1 (connection refused)",
			Hint: "check that `foliot serve` runs there, or set --server or FOLIOT_SERVER to another address",
		}},
	} {
		stdout, stderr, code := s.run("", s.words(c.line)...)
		var got exit.Report
		if err := json.Unmarshal([]byte(stderr), &got); err != nil || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("foliot %s prints %q: %v", c.line, stderr, err)
			continue
		}
		if got.Problem != nil && c.want.Problem != nil {
			if got.Problem.Detail == "" {
				t.Errorf("foliot %s: the problem has no detail", c.line)
			}
			got.Problem.Detail, got.Problem.ID, got.Problem.Allowed = "", "", nil
		}
		if c.want.Message == "" && got.Message != "" {
			got.Message = ""
		}
		if diff := cmp.Diff(c.want, got); diff != "" || code != c.want.ExitCode {
			t.Errorf("foliot %s ended with %d (-want +got):\n%s", c.line, code, diff)
		}
	}
}

func TestWithJSONEachOfSeveralErrorsIsAnObject(t *testing.T) {
	s := newSession(t)
	t.Setenv("FOLIOT_OUTPUT", "json")
	_, stderr, code := s.run("", "cancel", "a", "b")
	for line := range strings.Lines(stderr) {
		var report exit.Report
		if err := json.Unmarshal([]byte(line), &report); err != nil || report.Code != "not_found" {
			t.Errorf("%q: %v", line, err)
		}
	}
	if strings.Count(stderr, "\n") != 2 || code != exit.NotFound {
		t.Errorf("it ended with %d and printed %q", code, stderr)
	}
	if _, stderr, _ = s.run("", "lst", "-o", "text"); strings.HasPrefix(stderr, "{") {
		t.Errorf("a flag overrides the variable, but the error is %q", stderr)
	}
}
