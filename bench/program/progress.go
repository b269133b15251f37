package program

import (
	"fmt"
	"io"
	"time"
)

// Progress prints the current step and the remaining time.
type Progress struct {
	out  io.Writer
	done time.Duration // expected time of the finished steps
	all  time.Duration // expected time of all steps
	now  time.Duration // expected time of the current step
}

// NewProgress prints the expected time of all steps.
func NewProgress(out io.Writer, all time.Duration) *Progress {
	fmt.Fprintf(out, "about %v\n", all.Round(time.Second))
	return &Progress{out: out, all: all}
}

// Begin starts a step with its expected time.
func (p *Progress) Begin(expected time.Duration) {
	p.done, p.now = p.done+p.now, expected
}

// Say prints a line about the current step.
func (p *Progress) Say(format string, args ...any) {
	fmt.Fprintf(p.out, "%s left  %s\n", Clock(p.all-p.done), fmt.Sprintf(format, args...))
}

// Clock formats a duration as minutes and seconds.
func Clock(d time.Duration) string {
	d = d.Round(time.Second)
	return fmt.Sprintf("%2d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}
