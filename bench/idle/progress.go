package main

import (
	"fmt"
	"io"
	"time"
)

// progress says what is being done, and how long the rest will take.
type progress struct {
	out   io.Writer
	start time.Time
	done  time.Duration // of what was expected
	all   time.Duration
	now   time.Duration // what the present one is expected to take
}

func newProgress(out io.Writer, all time.Duration) *progress {
	fmt.Fprintf(out, "about %v\n", all.Round(time.Second))
	return &progress{out: out, start: time.Now(), all: all}
}

// begin begins something that is expected to take so long.
func (p *progress) begin(expected time.Duration) {
	p.done, p.now = p.done+p.now, expected
}

func (p *progress) say(format string, args ...any) {
	left := (p.all - p.done).Round(time.Second)
	fmt.Fprintf(p.out, "%2d:%02d left  %s\n", int(left.Minutes()), int(left.Seconds())%60, fmt.Sprintf(format, args...))
}
