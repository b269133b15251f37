package main

import (
	_ "embed"
	"math"

	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/redis/receiver"
)

//go:embed redis-benchmarks.md.tmpl
var template string

// The names of values, besides those of other packages. Processor times are in
// microseconds per task.
const (
	createS    = "create_s" // to create all tasks
	createUs   = "create_redis_us"
	nodeUs     = "create_node_us" // of the contender's server
	ownUs      = "create_own_us"  // of the process that creates
	lifeUs     = "life_us"        // of Redis, from the first create to the last call
	lifeNodeUs = "life_node_us"   // of the contender's server, in the same time
	sleepMs    = "sleep_p99_ms"   // lateness of this process after sleeps of a millisecond at the same time
	idleRedis  = "idle_redis_ms"  // processor time in a second without tasks
	idleNode   = "idle_node_ms"
	fileBytes  = "file_bytes" // appended to Redis's file, per task
)

// The numbers of goroutines that create, one by one and in batches.
const (
	singly  = 64
	batched = 16
)

func columns(r *record.Run) []page.Column {
	rate := func(callers int) func(string) float64 {
		return func(name string) float64 {
			j := record.Job{Part: create, Contender: name, Size: bodies[0], Callers: callers}
			for _, x := range r.Like(j) {
				j.N = x.N
			}
			return float64(j.N) / r.Median(j, createS)
		}
	}
	of := func(head string, better page.Better, part, value string) page.Column {
		return page.Column{Head: head, Better: better, Value: func(name string) float64 {
			return r.Median(record.Job{Part: part, Contender: name}, value)
		}}
	}
	return []page.Column{
		{Head: "creates a second, one by one", Better: page.More, Value: rate(singly)},
		{Head: "in batches", Value: rate(batched)},
		{Head: "bytes in Redis", Better: page.Less, Value: func(name string) float64 {
			for _, x := range r.Like(record.Job{Part: create, Contender: name}) {
				return x.Values[record.Bytes] - float64(x.Size)
			}
			return math.NaN()
		}},
		of("late p50, ms", page.None, late, record.P50Ms),
		of("late p99, ms", page.Less, late, record.P99Ms),
		of("early", page.Less, late, record.Early),
		{Head: "lost or twice", Better: page.Less, Value: func(name string) (n float64) {
			for _, part := range []string{late, drain} {
				for _, value := range []string{record.Lost, record.Doubled} {
					n += r.Median(record.Job{Part: part, Contender: name}, value)
				}
			}
			return n
		}},
		of("Redis, µs", page.Less, late, lifeUs),
		of("its server, µs", page.Less, late, lifeNodeUs),
		{Head: "backlog, calls a second", Better: page.More, Value: func(name string) float64 {
			j := record.Job{Part: drain, Contender: name}
			return (r.Median(j, record.Fired) - 1) / r.Median(j, receiver.Span)
		}},
		of("idle: Redis, ms a second", page.Less, idle, idleRedis),
	}
}
