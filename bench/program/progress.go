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

	began time.Time
}

// NewProgress prints the expected time of all steps.
func NewProgress(out io.Writer, all time.Duration) *Progress {
	fmt.Fprintf(out, "about %v\n", all.Round(time.Second))
	return &Progress{out: out, all: all, began: time.Now()}
}

// Begin starts a step with its expected time.
func (p *Progress) Begin(expected time.Duration) {
	p.done, p.now = p.done+p.now, expected
}

// Say prints a line about the current step. The remaining time is the expected
// one, multiplied by the ratio of actual to expected time so far.
func (p *Progress) Say(format string, args ...any) {
	left := p.all - p.done
	if p.done > 0 {
		left = time.Duration(float64(left) * float64(time.Since(p.began)) / float64(p.done))
	}
	left = left.Round(time.Second)
	fmt.Fprintf(p.out, "%2d:%02d left  %s\n", int(left.Minutes()), int(left.Seconds())%60, fmt.Sprintf(format, args...))
}
