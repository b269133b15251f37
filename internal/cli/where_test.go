package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
)

// An operator who names no namespace acts in the default one. An empty list
// must not look like one of all namespaces.
func TestAnEmptyListOfAnOperatorNamesTheOtherNamespaces(t *testing.T) {
	s := newSession(t)
	token, _, _ := s.run("", "token", "create", "--for", "operator", "--scope", "admin")
	t.Setenv("FOLIOT_TOKEN", strings.TrimSpace(token))
	const note = "nothing in the namespace default; --namespace chooses another one: shop\n"
	lines := []string{"ls", "ls -n 0", "ls --sort ended", "ls --state dead -o json", "retry --state dead --yes", "retry --reason gone --dry-run", "cancel --all --yes", "cron ls", "queue ls"}
	printed := func(line string) string {
		t.Helper()
		_, stderr, code := s.run("", s.words(line)...)
		if code != exit.OK {
			t.Fatalf("foliot %s ended with %d: %s", line, code, stderr)
		}
		return stderr
	}
	for _, line := range lines {
		if got := printed(line); strings.Contains(got, "namespace") {
			t.Errorf("without other namespaces, foliot %s prints %q", line, got)
		}
	}
	s.must("", "namespace set shop")
	for _, line := range lines {
		if got := printed(line); strings.Count(got, note) != 1 {
			t.Errorf("foliot %s prints %q", line, got)
		}
		if got := printed(line + " --namespace default"); strings.Contains(got, "nothing in") {
			t.Errorf("the namespace is chosen, but foliot %s prints %q", line, got)
		}
	}
	s.must("", "add http://127.0.0.1:9/ --in 1h --name a")
	if got := printed("ls"); got != "" {
		t.Errorf("a list that is not empty: %q", got)
	}
}

func TestAMissingRecordIsReportedWithItsNamespace(t *testing.T) {
	s := newSession(t)
	s.must("", "namespace set shop")
	for line, want := range map[string]string{
		"get t1":                      `get t1: no such task in the namespace default: it was never created`,
		"cancel t1 --namespace shop":  `cancel t1: no such task in the namespace shop: it was never created`,
		"cron get c --namespace shop": `there is no schedule "c" in the namespace shop: ` + "`foliot cron ls`",
	} {
		wants(t, exit.NotFound, want)(s.run("", s.words(line)...))
	}
}

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
		wants(t, exit.OK)(s.run("", "add", "http://127.0.0.1:9/", "--name", name, "--at", at, "--queue", "mail"))
	}
	wants(t, exit.OK)(s.run("", "cancel", "a", "c"))
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
