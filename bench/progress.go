package main

import (
	"fmt"
	"io"
	"time"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/report"
)

// progress says what was measured, and how long the rest will take.
type progress struct {
	out      io.Writer
	start    time.Time
	jobs     int
	finished int
	expected time.Duration // of all
	past     time.Duration // of it, the part of what is finished
}

func newProgress(out io.Writer, p *plan) *progress {
	pr := &progress{out: out, start: time.Now(), expected: p.expected()}
	for _, g := range p.groups {
		pr.jobs += len(g)
	}
	fmt.Fprintf(out, "%s, about %v\n", page.Plural(pr.jobs, "measurement"), pr.expected.Round(time.Minute))
	return pr
}

// done reports a group.
func (p *progress) done(g group, results []record.Result) {
	p.past += g.expected()
	for i := range results {
		p.finished++
		r := &results[i]
		result := report.Brief(r.Values)
		if r.Failed != "" {
			result = "FAILED: " + r.Failed
		}
		fmt.Fprintf(p.out, "[%3d/%d] %s left  %-14s n=%-8s %-14s trial %d  %s\n",
			p.finished, p.jobs, p.left(), report.WorkloadTitle(r.Job), report.Number(r.N), r.Peer, r.Trial, result)
	}
}

// left scales what is still expected by how the past went.
func (p *progress) left() string {
	pace := float64(time.Since(p.start)) / float64(max(p.past, 1))
	return program.Clock(time.Duration(float64(p.expected-p.past) * pace))
}
