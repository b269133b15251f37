package main

import (
	"slices"
	"time"

	"github.com/foliot/foliot/bench/embed/contender"
	"github.com/foliot/foliot/bench/embed/trial"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
)

// steps returns all measurements in their order: each kind of measurement runs
// for one contender after the other, so that they see the same machine.
func steps(s *program.Settings) (list []record.Job) {
	for _, part := range s.Parts {
		rounds := 1
		if !s.Quick && (part == trial.Create || part == trial.Batch || part == trial.Handle) {
			rounds = 3
		}
		for round := range rounds {
			for _, name := range s.Contenders {
				if info, err := record.Find(contender.All, name); err == nil {
					list = append(list, stepsOf(s, info, part, round+1)...)
				}
			}
		}
	}
	return list
}

// stepsOf returns the measurements of one part for one contender.
func stepsOf(s *program.Settings, info *contender.Info, part string, round int) []record.Job {
	waiting := 100_000
	if s.Quick {
		waiting = 2000
	}
	x := record.Job{Contender: info.Name, Part: part, Trial: round, Callers: rateCallers, Each: 1000, Limit: 20 * time.Second}
	if !info.Tuned && !slices.Contains([]string{trial.Handle, trial.Late, trial.Soon, trial.Idle}, part) {
		return nil
	}
	length := func(full, quick time.Duration) time.Duration {
		if s.Quick {
			return quick
		}
		return full
	}
	switch part {
	case trial.Create:
		x.Over, x.Each = length(3*time.Second, 200*time.Millisecond), 1
		alone := x
		alone.Callers = 1
		return []record.Job{alone, x}
	case trial.Batch:
		if x.Over = length(3*time.Second, 200*time.Millisecond); info.Many == "" {
			return nil
		}
		x.Callers = 1
	case trial.Standing:
		x.N, x.Callers = waiting, 64
	case trial.Handle:
		x.N, x.Callers, x.Limit = waiting/10, 64, time.Minute
	case trial.Late:
		x.N, x.Over = waiting*6/100, length(20*time.Second, 2*time.Second)
	case trial.Soon:
		x.Over = length(20*time.Second, 2*time.Second)
		x.N = int(x.Over / (25 * time.Millisecond))
	case trial.Idle:
		x.N, x.Over = waiting/10, length(10*time.Second, time.Second)
	case trial.Facts:
		x.N, x.Each, x.Over, x.Limit = 600, 1, length(6*time.Second, time.Second), 8*time.Second // a cancel needs the id that a create returns
		if s.Quick {
			x.N = 60
		}
	case trial.Plant:
		x.N, x.Callers, x.Each, x.Over, x.Limit = 200, 1, 1, 5*time.Second, time.Minute
	case trial.Hold:
		x.N, x.Callers, x.Limit = 1, 1, length(2*time.Minute, 10*time.Second)
	}
	return []record.Job{x}
}

// expected returns about how long a step takes.
func expected(x *record.Job) time.Duration {
	const around = 2 * time.Second // to empty the store and to start processes
	lead := time.Duration(x.N) * time.Millisecond / 2
	switch x.Part {
	case trial.Standing:
		return around + lead/3
	case trial.Handle:
		return around + lead + 3*time.Second
	case trial.Late:
		return around + lead + x.Over + 13*time.Second
	case trial.Soon, trial.Idle:
		return around + x.Over + 8*time.Second
	case trial.Facts:
		return around + x.Over + x.Limit + 22*time.Second
	case trial.Plant:
		return around + 12*time.Second
	case trial.Hold:
		return around + 8*time.Second + x.Limit/2
	}
	return around + x.Over
}
