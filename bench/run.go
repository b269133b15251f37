package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/report"
)

// tooLong is the time limit of a child process.
const tooLong = 3 * time.Minute

// measureAll runs the jobs of p, each in its own process, and returns the
// results in order. A failed job has a result with its error. measureAll stops
// early if ctx ends. It prints each result and the remaining time to out.
func measureAll(ctx context.Context, p plan, out io.Writer) []record.Result {
	var results []record.Result
	jobs, progress := 0, program.NewProgress(out, p.expected())
	for _, g := range p.groups {
		jobs += len(g)
	}
	for _, g := range p.groups {
		if ctx.Err() != nil {
			break
		}
		progress.Begin(g.expected())
		done := make([]record.Result, len(g))
		var wg sync.WaitGroup
		for i, j := range g {
			wg.Go(func() { done[i] = inChild(ctx, j) })
		}
		wg.Wait()
		if ctx.Err() != nil {
			break
		}
		for i := range done {
			r := &done[i]
			results = append(results, *r)
			brief := report.Brief(r.Values)
			if r.Failed != "" {
				brief = "FAILED: " + r.Failed
			}
			progress.Say("[%3d/%d] %-14s n=%-8s %-14s trial %d  %s",
				len(results), jobs, report.WorkloadTitle(r.Job), report.Number(float64(r.N)), r.Peer, r.Trial, brief)
		}
	}
	return results
}

// reply is the last line of a child's output.
type reply struct {
	Values record.Values `json:"values"`
	Failed string        `json:"failed"`
}

// inChild runs a job in its own process, so that memory and goroutines of one
// job do not affect the next.
func inChild(ctx context.Context, j record.Job) record.Result {
	start := time.Now()
	r, err := askChild(ctx, j)
	if err != nil {
		r.Failed = err.Error()
	}
	return record.Result{Job: j, Values: r.Values, Failed: r.Failed, Took: time.Since(start).Round(time.Millisecond).Seconds()}
}

func askChild(ctx context.Context, j record.Job) (reply, error) {
	if err := enoughMemory(j); err != nil {
		return reply{}, err
	}
	job, err := json.Marshal(j)
	if err != nil {
		return reply{}, fmt.Errorf("encode the job: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return reply{}, fmt.Errorf("find this program: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tooLong, fmt.Errorf("no result within %v", tooLong))
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-child", string(job))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = environment(j)
	switch err := cmd.Run(); {
	case ctx.Err() != nil:
		return reply{}, context.Cause(ctx)
	case err != nil:
		return reply{}, fmt.Errorf("%w: %s", err, firstLines(stderr.String()))
	}
	lines := bytes.Split(bytes.TrimSpace(stdout.Bytes()), []byte("\n"))
	var r reply
	if err := json.Unmarshal(lines[len(lines)-1], &r); err != nil {
		return reply{}, fmt.Errorf("read the child's result: %w", err)
	}
	return r, nil
}

// enoughMemory returns an error if the job may need more memory than the
// machine has free.
func enoughMemory(j record.Job) error {
	perTimer := 250.0
	if j.Peer == peer.GoZero {
		perTimer = 600
	}
	need, free := float64(j.N)*perTimer/(1<<30), record.FreeMemoryGiB()
	if free > 0 && need*1.5 > free {
		return fmt.Errorf("it may need %.1f GiB of memory, but %.1f GiB are free", need, free)
	}
	return nil
}

// environment returns the environment of a job's process. A job of one
// goroutine gets one processor, so that its elapsed time is its whole cost,
// including garbage collection.
func environment(j record.Job) []string {
	env := os.Environ()
	env = append(env, "GOGC=100", "GOMEMLIMIT=off", "GODEBUG=")
	switch j.Workload {
	case measure.Million, measure.Idle, measure.Accuracy:
		return env
	}
	if j.Goroutines > 1 {
		return env
	}
	return append(env, "GOMAXPROCS=1")
}

func firstLines(s string) string {
	lines := strings.SplitN(strings.TrimSpace(s), "\n", 4)
	return strings.Join(lines[:min(3, len(lines))], " | ")
}

// child runs the job that askChild sent to this process.
func child(job string) error {
	var j record.Job
	if err := json.Unmarshal([]byte(job), &j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	var r reply
	values, err := measure.Run(j)
	if err != nil {
		r.Failed = err.Error()
	} else {
		r.Values = values
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}
