package cli

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/store/memstore"
)

// apiWords are what somebody at a command line need not know.
var apiWords = regexp.MustCompile(`Foliot-Namespace|Authorization|the header is|the header out|the field|query parameter|\b(GET|POST|PUT|PATCH|DELETE) /|\{"|` +
	`retry\.|http\.|\b(max_attempts|min_backoff|max_backoff|per_destination|keep_dead|expires_in|max_pending|(create|change|read|edit)_rate)\b`)

// What the server refuses is told with the flags and arguments that were given.
func TestARefusalIsToldInTheWordsOfTheCommandLine(t *testing.T) {
	s := newSession(t)
	long := strings.Repeat("b", 2000)
	for _, c := range []struct{ line, says string }{
		{"ls --namespace nobody", "list tasks: --namespace: there is no namespace of that name"},
		{"cancel a b --namespace nobody", "--namespace: there is no namespace of that name"},
		{"ls --namespace a/b", "--namespace: a namespace is made of letters"},
		{"ls --reason x", "--reason: it is one of"},
		{"export --reason x", "--reason: it is one of"},
		{"audit --action nonsense", "--action: it is one of"},
		{"queue get a/b", "QUEUE: a queue is made of"},
		{"queue get nothing", "`foliot queue ls` lists"},
		{"queue pause a --until 2020-01-01T00:00:00Z", "--until: it lies in the future"},
		{"queue set m --rate 1e9", "--rate: it must be between"},
		{"queue set m --per-destination -1", "--per-destination: it lies between"},
		{"queue set m --max-attempts 99999999999", "--max-attempts: it lies between"},
		{"queue set m --min-backoff 2h --max-backoff 1h", "--max-backoff: it is shorter than --min-backoff"},
		{"queue set m --keep-dead=-1h", "--keep-dead: it lies between"},
		{"token create", "--for operator --scope admin"},
		{"token create --for a/b --scope read", "--for: "},
		{"token create --for operator --scope admin --expires 900000h", "--expires: it lies between"},
		{"secret create --overlap 900000h", "--overlap: it lies between"},
		{"namespace set a/b", "NAMESPACE: a namespace is made of"},
		{"namespace set m --max-pending 0", "--max-pending: 0 is not a limit"},
		{"namespace set m --read-rate 1e-400", "--read-rate: 1e-400 is not a limit"},
		{"queue set m --rate 0", "--rate: 0 is not a limit"},
		{"namespace set m --max-pending -1", "--max-pending: it must be at least 1"},
		{"namespace set m --create-rate -1", "--create-rate: it must be between"},
		{"add http://127.0.0.1/ --in 900000h", "--in: a delay lies between"},
		{"add http://127.0.0.1/ --in 1s --max-attempts 99999999999", "--max-attempts: it lies between"},
		{"add http://127.0.0.1/ --in 1s --min-backoff 2h --max-backoff 1h", "--max-backoff: it is shorter than --min-backoff"},
		{"add http://127.0.0.1/ --in 1s --label a=" + long, "--label a: "},
		{"add http://127.0.0.1/ --in 1s -H Host:x", "--header Host: "},
		{"add http://127.0.0.1:99999/ --in 1s", "URL: "},
		{"add http://127.0.0.1/ --in 1s --name a/b", "--name: a name is made of"},
	} {
		told(t, s, c.line, c.says)
	}
	operator, stderr, code := s.run("", "token", "create", "--for", "operator", "--scope", "admin")
	if code != exitOK {
		t.Fatal(stderr)
	}
	told(t, s, "ls", "list tasks: this server wants a token: --token-file")
	told(t, s, "ls --token nonsense", "list tasks: this is no token of ours: a token begins with foliot_")
	t.Setenv("FOLIOT_TOKEN", strings.TrimSpace(operator))
	reader, _, _ := s.run("", "token", "create", "--scope", "read")
	t.Setenv("FOLIOT_TOKEN", strings.TrimSpace(reader))
	told(t, s, "cancel a", "cancel a: the token may read")
	told(t, s, "ls --namespace acme", "list tasks: --namespace: the token belongs to another namespace: leave it out")
}

// A server that is called by a name it does not know names what each side can do.
func TestAForeignNameOfTheServerIsToldWithItsFlags(t *testing.T) {
	store := memstore.New(memstore.Config{})
	defer store.Close()
	guard := api.New(api.Config{Log: slog.New(slog.DiscardHandler)}, store)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "foliot.example"
		guard.ServeHTTP(w, r)
	}))
	defer srv.Close()
	told(t, &session{t: t, server: srv.URL}, "ls", "list tasks: --server: this server is not called that: use its own address, or start it with `foliot serve --host NAME`")
}

func told(t *testing.T, s *session, line, says string) {
	t.Helper()
	_, stderr, code := s.run("", s.words(line)...)
	if code == exitOK || !strings.Contains(stderr, says) || apiWords.MatchString(stderr) {
		t.Errorf("foliot %.100s ended with %d and said %q, want %q; API: %q", line, code, stderr, says, apiWords.FindString(stderr))
	}
}

// The lines of a file are the API's: what is wrong with one is told in its words.
func TestARefusedLineIsToldInTheWordsOfTheFile(t *testing.T) {
	s := newSession(t)
	_, stderr, code := s.run(`{"name":"a","delay":"1s","http":{"url":"http://127.0.0.1/"},"retry":{"max_attempts":-1}}`, "import", "-")
	if code != exitFailure || !strings.Contains(stderr, "retry.max_attempts: max_attempts lies between") {
		t.Errorf("%d: %s", code, stderr)
	}
}
