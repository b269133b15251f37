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

// progress prints each result and the remaining time.
type progress struct {
	out      io.Writer
	start    time.Time
	jobs     int
	finished int
	expected time.Duration // of all jobs
	past     time.Duration // expected duration of the finished jobs
}

func newProgress(out io.Writer, p *plan) *progress {
	pr := &progress{out: out, start: time.Now(), expected: p.expected()}
	for _, g := range p.groups {
		pr.jobs += len(g)
	}
	fmt.Fprintf(out, "%s, about %v\n", page.Plural(pr.jobs, "measurement"), pr.expected.Round(time.Minute))
	return pr
}

// done prints the results of a group.
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

// left returns the remaining time: the expected one, multiplied by the ratio of
// actual to expected time so far.
func (p *progress) left() string {
	pace := float64(time.Since(p.start)) / float64(max(p.past, 1))
	return program.Clock(time.Duration(float64(p.expected-p.past) * pace))
}
