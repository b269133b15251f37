package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/foliot/foliot/bench/redis/contender"
	"github.com/foliot/foliot/bench/redis/report"
)

const (
	lead = 6 * time.Second // from the first create to the first due time, if tasks are called
	tail = 8 * time.Second // from the last due time until missing calls count as lost
)

// bodies are the measured body sizes in bytes.
var bodies = []int{100, 1000}

// steps returns all measurements in their order.
func steps(s *settings) (list []report.Step) {
	for i := range contender.All {
		info := &contender.All[i]
		if !slices.Contains(s.contenders, info.Name) {
			continue
		}
		if info.Name != "asynq-fast" { // it creates tasks in the same way as asynq
			list = append(list, creates(info, s.Quick)...)
		}
		if info.Calls {
			list = append(list, calls(info, s.Quick)...)
		}
	}
	return slices.DeleteFunc(list, func(x report.Step) bool { return !slices.Contains(s.kinds, x.Kind) })
}

// creates returns the measurements of creates: with bodies of each size, and in
// batches and one by one if the contender has batches.
func creates(info *contender.Info, quick bool) (list []report.Step) {
	n := 100_000
	if quick {
		n = 5000
	}
	one := report.Step{Kind: report.Create, Contender: info.Name, Callers: 64, Each: 1, N: n, Size: bodies[0]}
	first := one
	if info.Many > 1 {
		first.Each, first.Callers = info.Many, 16
	}
	list = append(list, first)
	big := first
	big.Size = bodies[1]
	list = append(list, big)
	if info.Many > 1 {
		one.N /= 2 // it takes longer
		list = append(list, one)
	}
	return list
}

func calls(info *contender.Info, quick bool) []report.Step {
	late := report.Step{Kind: report.Late, Contender: info.Name, Callers: 64, Each: 1, N: 20_000, Size: bodies[0], Over: 20 * time.Second}
	if quick {
		late.N, late.Over = 2000, 2*time.Second
	}
	if info.Many > 1 {
		late.Each, late.Callers = 100, 8
	}
	drain := late
	drain.Kind, drain.Over = report.Drain, 0
	idle := report.Step{Kind: report.Idle, Contender: info.Name, Over: 5 * time.Second}
	if quick {
		idle.Over = time.Second
	}
	return []report.Step{late, drain, idle}
}

func about(x *report.Step) string {
	if x.Kind == report.Idle {
		return x.Kind
	}
	return fmt.Sprintf("%s, %d tasks of %d bytes, %d in a call", x.Kind, x.N, x.Size, x.Each)
}

func expectedOf(list []report.Step) (all time.Duration) {
	for i := range list {
		all += expected(&list[i])
	}
	return all
}

// expected is about how long a step takes.
func expected(x *report.Step) time.Duration {
	const around = 3 * time.Second // time to start, and until the memory is stable
	switch x.Kind {
	case report.Create:
		return around + time.Duration(x.N)*time.Second/15_000
	case report.Idle:
		return around + x.Over
	}
	return around + lead + x.Over + 3*time.Second
}
