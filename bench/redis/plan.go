package main

import (
	"slices"
	"time"

	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/redis/contender"
)

// The kinds of measurements, each with an empty Redis and new processes.
const (
	create = "create" // tasks that are due in an hour
	late   = "late"   // tasks that are due evenly over some time
	drain  = "drain"  // tasks that are due in one moment
	idle   = "idle"   // no tasks, for some time
)

const (
	lead = 6 * time.Second // from the first create to the first due time, if tasks are called
	tail = 8 * time.Second // from the last due time until missing calls count as lost
)

// bodies are the measured body sizes in bytes.
var bodies = []int{100, 1000}

// steps returns all measurements in their order.
func steps(s *program.Settings) (list []record.Job) {
	for i := range contender.All {
		info := &contender.All[i]
		if !slices.Contains(s.Contenders, info.Name) {
			continue
		}
		if info.Name != "asynq-fast" { // it creates tasks in the same way as asynq
			list = append(list, creates(info, s.Quick)...)
		}
		if info.Calls {
			list = append(list, calls(info, s.Quick)...)
		}
	}
	return slices.DeleteFunc(list, func(x record.Job) bool { return !s.Wants(x.Part) })
}

// creates returns the measurements of creates: with bodies of each size, and in
// batches and one by one if the contender has batches.
func creates(info *contender.Info, quick bool) (list []record.Job) {
	n := 100_000
	if quick {
		n = 5000
	}
	one := record.Job{Part: create, Contender: info.Name, Callers: singly, Each: 1, N: n, Size: bodies[0]}
	first := one
	if info.Many > 1 {
		first.Each, first.Callers = info.Many, batched
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

func calls(info *contender.Info, quick bool) []record.Job {
	first := record.Job{Part: late, Contender: info.Name, Callers: singly, Each: 1, N: 20_000, Size: bodies[0], Over: 20 * time.Second}
	if quick {
		first.N, first.Over = 2000, 2*time.Second
	}
	if info.Many > 1 {
		first.Each, first.Callers = 100, 8
	}
	backlog := first
	backlog.Part, backlog.Over = drain, 0
	quiet := record.Job{Part: idle, Contender: info.Name, Over: 5 * time.Second}
	if quick {
		quiet.Over = time.Second
	}
	return []record.Job{first, backlog, quiet}
}

// expected is about how long a step takes.
func expected(x *record.Job) time.Duration {
	const around = 3 * time.Second // time to start, and until the memory is stable
	switch x.Part {
	case create:
		return around + time.Duration(x.N)*time.Second/15_000
	case idle:
		return around + x.Over
	}
	return around + lead + x.Over + 3*time.Second
}
