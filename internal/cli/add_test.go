package cli

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
)

func TestARefusedNameIsReportedWithStateIDAndRemedy(t *testing.T) {
	s := newSession(t)
	const add = "add http://127.0.0.1:9/ --in 1h --name hello"
	s.must("", add)
	s.must("", "cancel hello")
	id := field(s, "hello", "id")
	_, stderr, code := s.run("", s.words(add)...)
	if want := "foliot: add hello: a task with that name exists (cancelled, id " + id + "): pass --replace to replace it, or choose another name\n"; code != exit.Conflict || stderr != want {
		t.Errorf("it ended with %d and printed %q, want %q", code, stderr, want)
	}
	if got := s.must("", add+" --replace"); !strings.HasPrefix(got, "created hello, due ") {
		t.Errorf("--replace printed %q", got)
	}
	if field(s, "hello", "state") != "scheduled" || field(s, "hello", "id") == id {
		t.Error("--replace has not made another task")
	}
}

// field returns the value of a row of foliot get.
func field(s *session, task, name string) string {
	s.t.Helper()
	for line := range strings.Lines(s.must("", "get "+task)) {
		if value, ok := strings.CutPrefix(line, name+"\t"); ok {
			return strings.TrimSpace(value)
		}
	}
	s.t.Fatalf("%s has no %s", task, name)
	return ""
}
