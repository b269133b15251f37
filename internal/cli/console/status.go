package console

import (
	"fmt"
	"strings"
	"time"
)

// Status shows the state of work in one line: with a bar on a terminal, and once
// a second elsewhere. Only one goroutine must use it.
type Status struct {
	con     *Console
	printed time.Time
}

// NewStatus begins work.
func NewStatus(con *Console) *Status { return &Status{con: con} }

// Show shows the line, and a part of the work, from 0 to 1, that is done.
func (s *Status) Show(line string, done float64) {
	if s.con.errTerm {
		const width = 10
		full := min(int(done*width), width)
		fmt.Fprintf(s.con.Err, "\r\x1b[K%s%s %s", strings.Repeat("█", full), strings.Repeat("░", width-full), line)
		return
	}
	if now := time.Now(); now.Sub(s.printed) >= time.Second {
		s.printed = now
		s.con.Notef("%s", line)
	}
}

// Done removes the line from a terminal.
func (s *Status) Done() {
	if s.con.errTerm {
		fmt.Fprint(s.con.Err, "\r\x1b[K")
	}
}
