package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
)

// ownContexts gives the test contexts of its own, and returns their file.
func ownContexts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir) // of macOS
	config, err := os.UserConfigDir()
	if err != nil {
		t.Skip(err)
	}
	return filepath.Join(config, "foliot", "contexts.yaml")
}

// mustBare runs a command line that must succeed, without adding a server.
func (s *session) mustBare(line string) string {
	s.t.Helper()
	stdout, stderr, code := s.runBare(s.words(line)...)
	if code != exit.OK {
		s.t.Fatalf("foliot %s ended with %d: %s", line, code, stderr)
	}
	return stdout
}

func TestACommandCallsTheServerOfItsContext(t *testing.T) {
	ownContexts(t)
	here, other := newSession(t), newSession(t)
	here.mustBare("context add here --server " + here.server)
	here.mustBare("context add other --server " + other.server)
	here.mustBare("add http://127.0.0.1:9/ --in 1h --name mine --context here")
	here.mustBare("context use other")
	for _, c := range []struct{ line, variable, value, want string }{
		{"ls", "", "", ""},
		{"ls --context here", "", "", "mine"},
		{"ls", "FOLIOT_CONTEXT", "here", "mine"},
		{"ls --context other", "FOLIOT_CONTEXT", "here", ""},
		{"ls", "FOLIOT_SERVER", here.server, "mine"},
		{"ls --context here", "FOLIOT_SERVER", here.server, "mine"},
		{"ls --server " + other.server, "FOLIOT_SERVER", here.server, ""},
		{"ls --server " + here.server, "FOLIOT_CONTEXT", "other", "mine"},
	} {
		t.Run(c.line+" "+c.variable, func(t *testing.T) {
			if c.variable != "" {
				t.Setenv(c.variable, c.value)
			}
			if got := names(here.mustBare(c.line)); got != c.want {
				t.Errorf("it lists %q, want %q", got, c.want)
			}
		})
	}
	here.mustBare("context use default")
	shows(t, here.mustBare("context ls"), "default\tcurrent", "other\t-\t")
}

// A command that can act in all namespaces must not do so if the context names
// one.
func TestTheNamespaceOfAContextIsTheOnlyOneOfACommand(t *testing.T) {
	ownContexts(t)
	s := newSession(t)
	s.must("", "namespace set shop")
	s.mustBare("context add all --server " + s.server)
	s.mustBare("context add shop --namespace shop --server " + s.server)
	for context, want := range map[string]bool{"all": true, "shop": false} {
		out := s.mustBare("export --settings - --context " + context)
		if got := strings.Contains(out, "kind: namespace"); got != want {
			t.Errorf("with context %s it exports namespaces: %v\n%s", context, got, out)
		}
	}
}

// authorizations returns a server that records the tokens of its requests.
func authorizations(t *testing.T) (url string, tokens *[]string) {
	t.Helper()
	tokens = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*tokens = append(*tokens, r.Header.Get("Authorization")+" "+r.Header.Get("Foliot-Namespace"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"tasks": []}`))
	}))
	t.Cleanup(server.Close)
	return server.URL, tokens
}

func TestTheTokenOfAContextIsSentOnlyToItsServer(t *testing.T) {
	file := ownContexts(t)
	s := newSession(t)
	own, ownTokens := authorizations(t)
	foreign, foreignTokens := authorizations(t)
	token := filepath.Join(s.dir, "token")
	servertest.WriteFile(t, token, []byte("foliot_secret\n"))
	s.mustBare("context add prod --server " + own + " --namespace shop --token-file " + token)
	s.mustBare("context use prod")
	s.mustBare("ls -n 0")
	s.mustBare("ls -n 0 --server " + foreign)
	s.mustBare("ls -n 0 --server " + own + " --namespace mail")
	if got := strings.Join(*ownTokens, ","); got != "Bearer foliot_secret shop,Bearer foliot_secret mail" {
		t.Errorf("its server got %q", got)
	}
	if got := strings.Join(slices.Compact(*foreignTokens), ","); got != " " {
		t.Errorf("another server got %q", got)
	}
	stored, err := os.ReadFile(file)
	info, statErr := os.Stat(file)
	if err != nil || statErr != nil || strings.Contains(string(stored), "secret") || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v and contains %s", info.Mode(), stored)
	}
}

// A variable of the shell for production must not turn a command for staging
// into one for production.
func TestAVariableDoesNotOverrideTheContextOnTheCommandLine(t *testing.T) {
	ownContexts(t)
	s := newSession(t)
	token := filepath.Join(s.dir, "token")
	servertest.WriteFile(t, token, []byte("foliot_secret\n"))
	s.mustBare("context add staging --server " + s.server)
	s.mustBare("context add secured --namespace shop --token-file " + token + " --server " + s.server)
	for _, c := range []struct {
		line, variable, value string
		code                  int
	}{
		{"ls --context staging", "FOLIOT_SERVER", "http://127.0.0.1:1", exit.Usage},
		{"ls --context staging", "FOLIOT_NAMESPACE", "mail", exit.Usage},
		{"ls --context secured", "FOLIOT_NAMESPACE", "mail", exit.Usage},
		{"ls --context secured", "FOLIOT_TOKEN", "foliot_other", exit.Usage},
		{"ls --context secured", "FOLIOT_TOKEN_FILE", "other", exit.Usage},
		{"ls --context staging", "FOLIOT_SERVER", s.server, exit.OK},
		{"ls --context staging", "FOLIOT_TOKEN_FILE", token, exit.OK}, // the context has no token
		{"ls --context staging --namespace default", "FOLIOT_NAMESPACE", "mail", exit.OK},
		{"ls --context default", "FOLIOT_SERVER", s.server, exit.OK}, // no context
	} {
		t.Run(c.line+" "+c.variable, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			_, stderr, code := s.runBare(s.words(c.line)...)
			if code != c.code || code != exit.OK && !strings.Contains(stderr, "--context, "+c.variable+": the variable would override the context") {
				t.Errorf("it ended with %d: %s", code, stderr)
			}
		})
	}
}

func TestAMistakeWithContextsIsNamed(t *testing.T) {
	file := ownContexts(t)
	s := newSession(t)
	s.mustBare("context add prod --server https://foliot.example")
	for _, c := range []struct {
		line, says string
		code       int
	}{
		{"context add prod --server http://x", "already exists", exit.Conflict},
		{"context add default --server http://x", "NAME: ", exit.Usage},
		{"context add a/b --server http://x", "NAME: ", exit.Usage},
		{"context add a", "--server: it is missing", exit.Usage},
		{"context add a --server x", "--server: invalid", exit.Usage},
		{"context add a --server http://u:p@x", "--server: the URL must not contain a user", exit.Usage},
		{"context add a --server http://x --token t", "--token: a context contains no token", exit.Usage},
		{"context add a --server http://x --token-file none", "--token-file: ", exit.Usage},
		{"context add a --server http://x --ca-cert none", "--ca-cert: ", exit.Usage},
		{"context use prdo", "did you mean prod", exit.NotFound},
		{"ls --context a", `--context: there is no context "a"`, exit.Usage},
		{"ls --context ''", "--context: the value is empty", exit.Usage},
		{"ls --server ''", "--server: the value is empty", exit.Usage},
	} {
		stdout, stderr, code := s.runBare(s.words(c.line)...)
		if code != c.code || !strings.Contains(stderr, c.says) || stdout != "" {
			t.Errorf("foliot %s ended with %d, want %d, and printed %q, want %q", c.line, code, c.code, stderr, c.says)
		}
	}
	s.mustBare("context add prod --replace --server https://other.example")
	fatal.If(t, os.WriteFile(file, []byte("current: gone\n"), 0o600))
	wants(t, exit.Usage, `the current context "gone" does not exist`)(s.runBare("ls"))
	s.mustBare("token generate") // no command without a server reads the file
}
