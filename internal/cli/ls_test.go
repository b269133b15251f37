package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
)

// names returns the first field of each line, joined by spaces.
func names(lines string) string {
	var all []string
	for line := range strings.Lines(lines) {
		name, _, _ := strings.Cut(line, "\t")
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

func TestListsHavePendingTasksFirstAndOrdersOfTheirOwn(t *testing.T) {
	s := newSession(t)
	for _, name := range []string{"c", "a", "d", "b"} { // created in this order, and due in the order of the alphabet
		at := fmt.Sprintf("2030-01-0%dT00:00:00Z", name[0]-'a'+1)
		if _, stderr, code := s.run("", "add", "http://127.0.0.1:9/", "--name", name, "--at", at, "--queue", "mail"); code != exit.OK {
			t.Fatal(stderr)
		}
	}
	if _, stderr, code := s.run("", "cancel", "a", "c"); code != exit.OK {
		t.Fatal(stderr)
	}
	for line, want := range map[string]string{
		"ls": "b d a c",
		"ls -o text --state cancelled --state scheduled": "b d a c",
		"ls -n 3":                     "b d a",
		"ls -n 2":                     "b d",
		"ls -n 0":                     "a b c d",
		"ls --state cancelled":        "a c",
		"ls --state scheduled -n 1":   "b",
		"ls --reason cancelled":       "a c",
		"ls --order ended --prefix a": "a",
	} {
		stdout, stderr, code := s.run("", s.words(line)...)
		if code != exit.OK || names(stdout) != want {
			t.Errorf("foliot %s ended with %d and listed %q, want %q; %s", line, code, names(stdout), want, stderr)
		}
		if more := strings.Contains(line, "-n 1") || strings.Contains(line, "-n 2") || strings.Contains(line, "-n 3"); more != (stderr != "") {
			t.Errorf("foliot %s prints the note %q", line, stderr)
		}
	}
}
