package cli

import (
	"regexp"
	"strings"
	"testing"
)

var (
	// endOfExample matches the end of the command line in an example: a remark or
	// an operator of the shell.
	endOfExample = regexp.MustCompile(`   .*| [|>&].*`)
	// substitution matches text that the shell replaces by a word.
	substitution = regexp.MustCompile(`"?\$\([^)]*\)"?`)
)

// Each example of a help text must be a valid command line.
func TestEveryExampleOfAHelpTextParses(t *testing.T) {
	s := &session{t: t}
	found := 0
	for _, leaf := range theModel().Leaves(true) {
		for line := range strings.Lines(leaf.Detail) {
			example, ok := strings.CutPrefix(strings.TrimSpace(line), "foliot ")
			if !ok || !strings.HasPrefix(line, "    ") || strings.Contains(example, "--config /") { // the parser would read that file
				continue
			}
			found++
			args := s.words(substitution.ReplaceAllString(endOfExample.ReplaceAllString(example, ""), "word"))
			if err := parse(args); err != nil {
				t.Errorf("foliot %s: %v", example, err)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d examples were found", found)
	}
}

// A negative value needs no equals sign before it.
func TestANegativeValueIsJoinedToItsFlag(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"audit --since -1h -n 5", "audit --since=-1h -n 5"},
		{"ls --due-after -.5s", "ls --due-after=-.5s"},
		{"queue set mail --rate -3", "queue set mail --rate=-3"},
		{"ls --due-after=-1h -3", "ls --due-after=-1h -3"},
		{"get -- --name -1h", "get -- --name -1h"},
		{"backup -", "backup -"},
		{"top --once -o json", "top --once -o json"},
	} {
		if got := strings.Join(joinNegative(strings.Fields(c.line)), " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
}
