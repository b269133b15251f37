package cli

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/engine/memory"
	"github.com/foliot/foliot/internal/fatal"
)

// A transcript is a file in testdata with the commands and output of a session:
//
//	$ foliot get unknown       a command
//	< {"delay": "1h"}          a line of its standard input
//	text                       a line of its standard output
//	! text                     a line of its standard error
//	[3]                        its exit code, unless it is 0
//	# text                     a remark
//
// Text that differs between runs is replaced. UPDATE_GOLDEN=1 rewrites the
// files.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			fatal.If(t, err)
			session := newSession(t)
			got := session.replay(string(want))
			if os.Getenv("UPDATE_GOLDEN") != "" {
				fatal.If(t, os.WriteFile(file, []byte(got), 0o600))
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got); `make golden PKG=./internal/cli RUN=TestTranscripts` rewrites it:\n%s", file, diff)
			}
		})
	}
}

// session runs commands in this process against its own server. That server
// does not deliver tasks.
type session struct {
	t      *testing.T
	server string
	dir    string
}

func newSession(t *testing.T) *session {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	n, err := engine.Open(t.Context(), memory.Medium{}, engine.StoreConfig{Logger: log})
	fatal.If(t, err)
	n.Connect(dispatch.Config{Handlers: 1}, nil, nil)
	srv := httptest.NewServer(api.New(api.Config{Log: log, Engine: n}, n.Store))
	t.Cleanup(func() {
		srv.Close()
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return &session{t: t, server: srv.URL, dir: t.TempDir()}
}

// runBare runs a command line without adding a server.
func (s *session) runBare(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	var out, err bytes.Buffer
	code = run(s.t.Context(), args, strings.NewReader(""), &out, &err)
	return out.String(), err.String(), code
}

// run runs a command line, and returns its output and exit code.
func (s *session) run(stdin string, args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	var out, err bytes.Buffer
	code = run(s.t.Context(), append([]string{"--server", s.server}, args...), strings.NewReader(stdin), &out, &err)
	return out.String(), err.String(), code
}

// replay runs the commands of a transcript, and returns the transcript with
// their present output.
func (s *session) replay(script string) string {
	var b strings.Builder
	lines := strings.Split(strings.TrimSuffix(script, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		command, ok := strings.CutPrefix(lines[i], "$ foliot")
		if !ok {
			if strings.HasPrefix(lines[i], "#") || lines[i] == "" {
				b.WriteString(lines[i] + "\n")
			}
			continue
		}
		b.WriteString(lines[i] + "\n")
		stdin := ""
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "< ") {
			i++
			b.WriteString(lines[i] + "\n")
			stdin += strings.TrimPrefix(lines[i], "< ") + "\n"
		}
		b.WriteString(s.normal(s.run(stdin, s.words(command)...)))
	}
	return b.String()
}

// words splits a command line. Single quotes keep spaces, and two of them are
// an empty word. $DIR is the directory of the session.
func (s *session) words(line string) []string {
	var words []string
	for i, part := range strings.Split(strings.ReplaceAll(line, "$DIR", s.dir), "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

var varying = []struct {
	pattern *regexp.Regexp
	word    string
}{
	{regexp.MustCompile(`20[0-2]\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`), "TIME"}, // not 2030, which transcripts use in commands
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`@\d{13}\.t\w+`), "@MILLIS.tRANDOM"},
	{regexp.MustCompile(`in \d+\.\d s \(\d+ a second\)`), "in SECONDS (RATE)"},
	{regexp.MustCompile(`"seconds":[0-9.e-]+`), `"seconds":SECONDS`},
}

// normal returns the output of a command in the form of a transcript.
func (s *session) normal(stdout, stderr string, code int) string {
	text := stdout
	for line := range strings.Lines(stderr) {
		text += "! " + line
	}
	if code != 0 {
		text += fmt.Sprintf("[%d]\n", code)
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, s.server, "SERVER"), s.dir, "$DIR")
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.word)
	}
	return text
}

// wants returns a check of the exit code of a command, and of texts that it must
// print.
func wants(t *testing.T, code int, says ...string) func(stdout, stderr string, got int) {
	t.Helper()
	return func(stdout, stderr string, got int) {
		t.Helper()
		if got != code {
			t.Errorf("it ended with %d, want %d:\n%s%s", got, code, stdout, stderr)
		}
		shows(t, stdout+stderr, says...)
	}
}

// shows checks that a text has all of these parts.
func shows(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}
