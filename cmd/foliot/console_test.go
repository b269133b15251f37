package main

import (
	"bytes"
	"testing"
)

func TestATableIsAlignedOnATerminalAndTabbedElsewhere(t *testing.T) {
	for _, c := range []struct {
		terminal bool
		rows     [][]string
		want     string
	}{
		{true, [][]string{{"a", "scheduled"}, {"longer-name", "dead"}}, "NAME         STATE\na            scheduled\nlonger-name  dead\n"},
		{true, nil, "NAME  STATE\n"},
		{false, [][]string{{"a", "scheduled"}, {"longer-name", "dead"}}, "a\tscheduled\nlonger-name\tdead\n"},
		{false, nil, ""},
	} {
		var out bytes.Buffer
		table := (&console{out: &out, outTerm: c.terminal}).table([]string{"NAME", "STATE"})
		for _, row := range c.rows {
			if err := table.add(row...); err != nil {
				t.Fatal(err)
			}
		}
		if err := table.end(); err != nil {
			t.Fatal(err)
		}
		if out.String() != c.want {
			t.Errorf("terminal %v: got\n%s\nwant\n%s", c.terminal, out.String(), c.want)
		}
	}
}

func TestWhatStrangersSentCannotMoveTheCursor(t *testing.T) {
	for in, want := range map[string]string{
		"plain":              "plain",
		`{"a": "é 日本"}`:      `{"a": "é 日本"}`,
		"\x1b[2Jgone":        `\x1b[2Jgone`,
		"two\nlines":         `two\nlines`,
		"a \"quote\"\x00":    `a "quote"\x00`,
		"broken \xff":        `broken \xff`,
		"right\u202eto left": `right\u202eto left`,
		"":                   "",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) is %q, want %q", in, got, want)
		}
	}
}
