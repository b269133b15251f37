package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/fatal"
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
		table := (&Console{Out: &out, OutTerm: c.terminal}).Table([]string{"NAME", "STATE"})
		for _, row := range c.rows {
			fatal.If(t, table.Add(row...))
		}
		fatal.If(t, table.End())
		if out.String() != c.want {
			t.Errorf("terminal %v: got\n%s\nwant\n%s", c.terminal, out.String(), c.want)
		}
	}
}

// hostile is text from an untrusted source. It clears the screen, sets a title,
// begins a C1 control sequence, reverses text, and hides or splits text.
const hostile = "\x1b[2J\x1b]0;x\a \u009b2J \u0090 \x7f \u202eto left\u202c \u2066\u2069 \u200f \u061c \u2028 \ufeff \U000e0041 \r\n\t é 日本 😀 <&>"

// acts reports whether a terminal would do more than show s.
func acts(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }) || !utf8.ValidString(s)
}

func TestJSONOnATerminalIsSafeAndMeansTheSame(t *testing.T) {
	for _, v := range []any{
		hostile,
		map[string]any{hostile: []any{hostile, 1.5, nil, true}},
		struct{ Body json.RawMessage }{json.RawMessage("{\"\u202e\":\"\u009b 😀 \U000e0041 \xff\"}")},
		client.Task{Spec: client.Spec{Name: "a", HTTP: client.HTTP{URL: "https://example.com/", Headers: map[string]string{"x": "\u202e\u009b"}, Body: client.Text(hostile)}}},
	} {
		var plain, shown bytes.Buffer
		fatal.If(t, errors.Join((&Console{Out: &plain}).Object(v), (&Console{Out: &shown, OutTerm: true}).Object(v)))
		if acts(shown.String()) || strings.Count(shown.String(), "\n") != 1 {
			t.Errorf("a terminal acts on %q", shown.String())
		}
		if !acts(plain.String()) {
			t.Errorf("%q does not act on a terminal, so the test proves nothing", plain.String())
		}
		var want, got any
		if err := errors.Join(json.Unmarshal(plain.Bytes(), &want), json.Unmarshal(shown.Bytes(), &got)); err != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("%v\n%q\n%q", err, plain.String(), shown.String())
		}
		var exact bytes.Buffer
		enc := json.NewEncoder(&exact)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil || exact.String() != plain.String() {
			t.Errorf("what is piped is not the plain JSON: %q", plain.String())
		}
	}
}

func TestNoPrintedLineControlsATerminal(t *testing.T) {
	var out, errs bytes.Buffer
	con := &Console{Out: &out, Err: &errs, OutTerm: true, errTerm: true}
	con.Linef("%s\tsays %s", "a", hostile)
	con.Notef("%s", hostile)
	con.Notef("foliot: %s", con.ErrorText(errors.New(hostile)))
	table := con.Table([]string{"NAME"})
	fatal.If(t, errors.Join(table.Add(hostile), table.End()))
	if text := out.String() + errs.String(); acts(text) || !strings.Contains(text, "é 日本 😀") || !strings.Contains(text, `\x1b[2J`) {
		t.Errorf("%q", text)
	}
}
