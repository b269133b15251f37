package cli

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/store/memstore"
)

// apiWords matches words of the API, which no message of the command line has.
var apiWords = regexp.MustCompile(`Foliot-Namespace|Authorization|the header is|the header out|the field|query parameter|\b(GET|POST|PUT|PATCH|DELETE) /|\{"|` +
	`retry\.|http\.|\b(max_attempts|min_backoff|max_backoff|per_destination|keep_dead|expires_in|max_pending|(create|change|read|edit)_rate)\b`)

// A refusal names the flags and arguments that were given.
func TestARefusalNamesFlagsAndArguments(t *testing.T) {
	s := newSession(t)
	long := strings.Repeat("b", 2000)
	for _, c := range []struct{ line, says string }{
		{"ls --namespace nobody", "list tasks: --namespace: there is no namespace \"nobody\""},
		{"cancel a b --namespace nobody", "--namespace: there is no namespace \"nobody\""},
		{"ls --namespace a/b", "--namespace: must consist of letters"},
		{"ls --reason x", "--reason: must be one of"},
		{"audit --action nonsense", "--action: must be one of"},
		{"queue get a/b", "QUEUE: must consist of"},
		{"queue get nothing", "there is no queue \"nothing\" in the namespace default: `foliot queue ls` lists the existing ones"},
		{"queue set m --rate 1e9", "--rate: must be between"},
		{"queue set m --max-attempts 99999999999", "--max-attempts: must be between"},
		{"queue set m --min-backoff 2h --max-backoff 1h", "--max-backoff: must not be shorter than the minimum backoff"},
		{"token create", "--for operator --scope admin"},
		{"token create --for a/b --scope read", "--for: "},
		{"token create --for operator --scope admin --expires 900000h", "--expires: must be between"},
		{"namespace set a/b", "NAMESPACE: must consist of"},
		{"namespace set m --max-pending 0", "--max-pending: 0 is not a limit"},
		{"namespace set m --read-rate 1e-400", "--read-rate: 1e-400 is not a limit"},
		{"queue set m --rate 0", "--rate: 0 is not a limit"},
		{"add http://127.0.0.1/ --in 900000h", "--in: must be between"},
		{"add http://127.0.0.1/ --in 1s --label a=" + long, "--label a: "},
		{"add http://127.0.0.1/ --in 1s -H Host:x", "--header Host: "},
		{"add http://127.0.0.1:99999/ --in 1s", "URL: "},
		{"add http://127.0.0.1/ --in 1s --name a/b", "--name: must consist of"},
	} {
		wantRefusal(t, s, c.line, c.says)
	}
	operator, stderr, code := s.run("", "token", "create", "--for", "operator", "--scope", "admin")
	if code != exit.OK {
		t.Fatal(stderr)
	}
	wantRefusal(t, s, "ls", "list tasks: this server requires a token: pass one with --token-file")
	wantRefusal(t, s, "ls --token nonsense", "list tasks: the token has a typing error or is not from Foliot: a token begins with foliot_")
	t.Setenv("FOLIOT_TOKEN", strings.TrimSpace(operator))
	reader, _, _ := s.run("", "token", "create", "--scope", "read")
	t.Setenv("FOLIOT_TOKEN", strings.TrimSpace(reader))
	wantRefusal(t, s, "cancel a", "cancel a: the token has scope read, but this needs scope write")
	wantRefusal(t, s, "ls --namespace acme", "list tasks: --namespace: the token belongs to another namespace: leave it out")
}

// A request with an unknown Host names the remedy of each side.
func TestAnUnknownNameOfTheServerIsReportedWithItsFlags(t *testing.T) {
	store := memstore.New(memstore.Config{})
	defer store.Close()
	guard := api.New(api.Config{Log: slog.New(slog.DiscardHandler)}, store)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "foliot.example"
		guard.ServeHTTP(w, r)
	}))
	defer srv.Close()
	wantRefusal(t, &session{t: t, server: srv.URL}, "ls", "list tasks: --server: the server does not know this name: use its address, or start it with `foliot serve --host NAME`")
}

func wantRefusal(t *testing.T, s *session, line, says string) {
	t.Helper()
	_, stderr, code := s.run("", s.words(line)...)
	if code == exit.OK || !strings.Contains(stderr, says) || apiWords.MatchString(stderr) {
		t.Errorf("foliot %.100s ended with %d and said %q, want %q; API: %q", line, code, stderr, says, apiWords.FindString(stderr))
	}
}

// The lines of a file have the fields of the API, so an error names these.
func TestARefusedLineNamesFieldsOfTheFile(t *testing.T) {
	s := newSession(t)
	wants(t, exit.Failure, "retry.max_attempts: must be between")(s.run(`{"name":"a","delay":"1s","http":{"url":"http://127.0.0.1/"},"retry":{"max_attempts":-1}}`, "import", "-"))
}

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
