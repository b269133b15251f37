package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
)

// terminal runs a command line on a terminal at which the user types answer. It
// returns the output and the questions.
func (s *session) terminal(answer io.Reader, line string) (printed, asked string, err error) {
	s.t.Helper()
	var out, errs bytes.Buffer
	p, release := takeUsed()
	defer release()
	flags := p.line
	parsed, err := p.Parse(append(strings.Fields(line), "--server", s.server))
	fatal.If(s.t, err)
	con := console.New(answer, &out, &errs, false)
	con.CanAsk = true
	parsed.Bind(&flags.Flags)
	parsed.BindTo(s.t.Context(), (*context.Context)(nil))
	fatal.If(s.t, parsed.BindToProvider(flags.Client))
	err = parsed.Run(con)
	flags.Close()
	return out.String(), errs.String(), err
}

// readerFunc is a user that acts before the answer.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func (s *session) addThree() {
	s.t.Helper()
	for _, name := range []string{"a", "b", "c"} {
		s.must("", "add http://127.0.0.1:9/ --in 1h --queue mail --name "+name)
	}
}

func TestAChangeByFilterNeedsYesWithoutATerminal(t *testing.T) {
	s := newSession(t)
	s.addThree()
	for _, c := range []struct{ line, question string }{
		{"cancel --all", "cancel 3 tasks?"},
		{"cancel --queue mail", "cancel 3 tasks?"},
		{"cancel --label a=b", "cancel 0 tasks?"},
		{"retry --all", "retry 0 tasks?"},
		{"move --all --in 2h", "move 3 tasks?"},
		{"cancel --state dead", "cancel 0 tasks?"},
		{"queue purge mail", "cancel 3 tasks of mail?"},
	} {
		wants(t, exit.Usage, "--yes: not a terminal", c.question)(s.run("y\n", s.words(c.line)...))
	}
	if got := s.must("", "ls --state scheduled"); strings.Count(got, "\n") != 3 {
		t.Errorf("left are\n%s", got)
	}
	if got := s.must("", "cancel --all --yes"); got != "cancelled 3\n" {
		t.Errorf("with --yes it printed %q", got)
	}
}

func TestAChangeByFilterAsksOnATerminalWithTheNumber(t *testing.T) {
	s := newSession(t)
	s.addThree()
	all := "cancel --all"
	for _, answer := range []string{"n\n", "\n", "yess\n", ""} {
		printed, asked, err := s.terminal(strings.NewReader(answer), all)
		if printed != "" || asked != "cancel 3 tasks? [y/N] " || exit.CodeOf(err) != exit.Interrupted {
			t.Errorf("after %q it printed %q, asked %q and ended with %v", answer, printed, asked, err)
		}
	}
	if got := s.must("", "ls --state scheduled"); strings.Count(got, "\n") != 3 {
		t.Errorf("left are\n%s", got)
	}
	if printed, asked, err := s.terminal(strings.NewReader("y\n"), all); printed != "cancelled 3\n" || asked != "cancel 3 tasks? [y/N] " || err != nil {
		t.Errorf("after a yes it printed %q, asked %q and ended with %v", printed, asked, err)
	}
	if printed, asked, err := s.terminal(strings.NewReader(""), all); printed != "cancelled 0\n" || asked != "" || err != nil {
		t.Errorf("without tasks it printed %q, asked %q and ended with %v", printed, asked, err)
	}
}

func TestAConfirmationHoldsOnlyForTheNumberInTheQuestion(t *testing.T) {
	for _, c := range []struct {
		line, tasks, answer string
		changed             bool
	}{
		{"cancel --all", "tasks", "n\n", false},
		{"queue purge mail", "tasks of mail", "n\n", false},
		{"queue purge mail", "tasks of mail", "y\n", true},
	} {
		s := newSession(t)
		s.addThree()
		answers, joined := strings.NewReader("y\n"+c.answer), false
		person := readerFunc(func(p []byte) (int, error) {
			if !joined {
				joined = true
				s.must("", "add http://127.0.0.1:9/ --in 1h --queue mail --name late")
			}
			return answers.Read(p)
		})
		_, asked, err := s.terminal(person, c.line)
		want := fmt.Sprintf("cancel 3 %[1]s? [y/N] the number of tasks has changed\ncancel 4 %[1]s? [y/N] ", c.tasks)
		if asked != want || (err == nil) != c.changed || !c.changed && exit.CodeOf(err) != exit.Interrupted {
			t.Errorf("%s asked %q and ended with %v", c.line, asked, err)
		}
		left := strings.Count(s.must("", "ls --state scheduled"), "\n")
		if queue := s.must("", "queue get mail"); strings.Contains(queue, "purging") != c.changed || !c.changed && left != 4 {
			t.Errorf("after %s and %q, %d tasks are left, and the queue is\n%s", c.line, c.answer, left, queue)
		}
	}
}
