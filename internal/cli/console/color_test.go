package console

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// table returns the output of a table with a state, and of rows with one.
func table(t *testing.T, con *Console) string {
	t.Helper()
	var out bytes.Buffer
	con.Out = &out
	list := con.Table([]string{"NAME", "STATE", "URL"})
	rows := Rows{}
	rows.Add("name", "dead")
	rows.Add("state", "dead (gone)")
	if err := errors.Join(list.Add("dead", "dead", "/a"), list.Add("b", "scheduled", "/b"), list.End(), rows.Print(con)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestStatesHaveColorsThatDoNotMoveTheColumns(t *testing.T) {
	plain, colored := table(t, &Console{OutTerm: true}), table(t, &Console{OutTerm: true, color: true})
	for _, part := range []string{"dead  " + red + "dead" + noColor + "       /a\n", "b     scheduled  /b\n", "state  " + red + "dead (gone)" + noColor + "\n", "name   dead\n"} {
		if !strings.Contains(colored, part) {
			t.Errorf("%q is missing in %q", part, colored)
		}
	}
	if got := strings.NewReplacer(red, "", noColor, "").Replace(colored); got != plain || strings.Contains(plain, "\x1b") {
		t.Errorf("without colors: got %q, want %q", got, plain)
	}
}

func TestTheEnvironmentTurnsColorsOff(t *testing.T) {
	for _, c := range []struct {
		noColor, term string
		want          bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}, {"", "", true}} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		if got := wantsColor(); got != c.want {
			t.Errorf("NO_COLOR=%q TERM=%q: got %v", c.noColor, c.term, got)
		}
	}
}

func TestOnlyATerminalGetsRelativeTimes(t *testing.T) {
	at := time.Now().Add(29*time.Minute + 10*time.Second)
	if got := (&Console{OutTerm: true}).Instant(at); !strings.HasPrefix(got, "in 29 min (") {
		t.Errorf("on a terminal: %q", got)
	}
	if got, want := (&Console{}).Instant(at), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
		t.Errorf("in a pipe: got %q, want %q", got, want)
	}
	if got := (&Console{OutTerm: true}).Instant(time.Time{}); got != "-" {
		t.Errorf("no time: %q", got)
	}
}
