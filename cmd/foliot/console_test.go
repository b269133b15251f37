package main

import (
	"bytes"
	"testing"
)

func TestATableIsAlignedOnATerminalAndTabbedElsewhere(t *testing.T) {
	heading := []string{"NAME", "STATE"}
	rows := func() [][]string { return [][]string{{"a", "scheduled"}, {"longer-name", "dead"}} }
	for _, c := range []struct {
		terminal bool
		want     string
	}{
		{true, "NAME         STATE\na            scheduled\nlonger-name  dead\n"},
		{false, "a\tscheduled\nlonger-name\tdead\n"},
	} {
		var out bytes.Buffer
		con := &console{out: &out, outTerm: c.terminal}
		if err := con.table(heading, rows()); err != nil {
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
