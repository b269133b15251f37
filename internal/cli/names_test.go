package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
)

func TestTheFlagVersionPrintsTheVersionAfterAnyCommand(t *testing.T) {
	s := newSession(t)
	want := version() + "\n"
	for _, args := range [][]string{{"--version"}, {"-V"}, {"ls", "--version"}} {
		if got, errs, code := s.runBare(args...); got != want || errs != "" || code != exit.OK {
			t.Errorf("foliot %v ended with %d and printed %q and %q, want %q", args, code, got, errs, want)
		}
	}
}

func TestOtherNamesRunTheSameCommand(t *testing.T) {
	s := newSession(t)
	for _, step := range []struct{ line, names string }{
		{"create http://127.0.0.1:9/ --in 1h --name a", "a"},
		{"add http://127.0.0.1:9/ --in 1h --name b", "b"},
		{"create http://127.0.0.1:9/ --in 1h --name c", "c"},
		{"list", "a\tscheduled"},
		{"list", "c\tscheduled"},
		{"show a", "a"},
		{"move a --in 2h", "a"},
		{"move b --now", "b"},
		{"delete a", "cancelled a"},
		{"rm b", "cancelled b"},
		{"cron create d @daily http://127.0.0.1:9/", "d"},
		{"cron list", "d"},
		{"cron show d", "d"},
		{"cron delete d", "d"},
		{"queue list", "default"},
		{"queue show default", "default"},
	} {
		wants(t, exit.OK, step.names)(s.run("", s.words(step.line)...))
	}
}

// A word must not have two meanings.
func TestNoNameIsUsedTwice(t *testing.T) {
	root := theModel().Node
	groups := append(root.Children, root)
	for _, group := range groups {
		used := map[string]bool{}
		for _, c := range group.Children {
			for _, name := range append([]string{c.Name}, c.Aliases...) {
				if used[name] {
					t.Errorf("%s has two commands %s", nameOf(group), name)
				}
				used[name] = true
			}
		}
	}
}

// heading matches the heading of a group in a help text.
var heading = regexp.MustCompile(`(?m)^\S.*:$`)

func TestTheFlagsOfEveryCommandComeLastInEveryHelp(t *testing.T) {
	s := newSession(t)
	root := theModel().Node
	commands := [][]string{{}}
	for _, leaf := range append(root.Leaves(true), root.Children...) {
		commands = append(commands, strings.Fields(nameOf(leaf))[1:])
	}
	for _, words := range commands {
		text, _, code := s.runBare(append(words, "--help")...)
		_, last, found := strings.Cut(text, "\n"+globalFlags.Title+"\n")
		for _, flag := range []string{"--help", "--server=", "--output=", "--version"} {
			if !strings.Contains(last, "  "+flag) && !strings.Contains(last, ", "+flag) {
				t.Errorf("foliot %v: %s is missing in the last group", words, flag)
			}
		}
		if !found || code != exit.OK || heading.MatchString(last) {
			t.Errorf("foliot %v: another group follows the flags of every command:\n%s", words, text)
		}
		if strings.Contains(text, "Commands:\n") {
			t.Errorf("foliot %v: it lists commands without a group:\n%s", words, text)
		}
	}
}
