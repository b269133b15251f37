package program

import (
	"fmt"
	"io"
	"time"
)

// Progress says what is being done, and how long the rest will take.
type Progress struct {
	out  io.Writer
	done time.Duration // of what was expected
	all  time.Duration
	now  time.Duration // what the present one is expected to take
}

// NewProgress says how long all will take.
func NewProgress(out io.Writer, all time.Duration) *Progress {
	fmt.Fprintf(out, "about %v\n", all.Round(time.Second))
	return &Progress{out: out, all: all}
}

// Begin begins something that is expected to take so long.
func (p *Progress) Begin(expected time.Duration) {
	p.done, p.now = p.done+p.now, expected
}

// Say says something of what was begun.
func (p *Progress) Say(format string, args ...any) {
	fmt.Fprintf(p.out, "%s left  %s\n", Clock(p.all-p.done), fmt.Sprintf(format, args...))
}

// Clock writes minutes and seconds.
func Clock(d time.Duration) string {
	d = d.Round(time.Second)
	return fmt.Sprintf("%2d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}
