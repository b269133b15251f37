package cli

import (
	"io"
	"regexp"
	"strings"
	"testing"
)

var (
	// endOfExample is where an example's command line ends: at a remark, or where the shell takes over.
	endOfExample = regexp.MustCompile(`   .*| [|>&].*`)
	// substitution is what the shell replaces by a word.
	substitution = regexp.MustCompile(`"?\$\([^)]*\)"?`)
)

// What a help text shows can be typed.
func TestEveryExampleOfAHelpTextParses(t *testing.T) {
	s := &session{t: t}
	found := 0
	for _, leaf := range newParser(new(cli), io.Discard, io.Discard).Model.Leaves(true) {
		for line := range strings.Lines(leaf.Detail) {
			example, ok := strings.CutPrefix(strings.TrimSpace(line), "foliot ")
			if !ok || !strings.HasPrefix(line, "    ") || strings.Contains(example, "--config /") { // that file would be read
				continue
			}
			found++
			args := s.words(substitution.ReplaceAllString(endOfExample.ReplaceAllString(example, ""), "word"))
			if _, err := newParser(new(cli), io.Discard, io.Discard).Parse(joinNegative(args)); err != nil {
				t.Errorf("foliot %s: %v", example, err)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d examples were found", found)
	}
}

// A value may be negative without an equals sign before it.
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
