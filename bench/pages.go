package main

import (
	"bytes"
	"embed"
	"fmt"
	"math"
	"regexp"
	"slices"
	"text/template"
	"time"
)

// page is a page of docs/: its benchmarks, and the columns of its table. Its
// benchmarks are in the folder with its name, its text is in
// pages/NAME.md.tmpl.
type page struct {
	name, doc, target string
	modules           []string // other modules; the page shows their versions
	notes             []string // lines that benchmarks print about their environment
	rows              []row
	parts             []part
	columns           []column
	extra             func(*results) map[string]string // further values for the template, or nil
}

// part is a benchmark, with a sub-benchmark for each contender.
type part struct {
	name     string
	trials   int    // 0: one
	length   string // of the measurement; "": the benchmark runs once
	together bool   // all contenders at the same time: they need little of the processor
}

//go:embed pages
var texts embed.FS

// fill returns the page of results.
func (p *page) fill(r *results) ([]byte, error) {
	t, err := template.ParseFS(texts, "pages/common.md.tmpl", "pages/"+p.name+".md.tmpl")
	if err != nil {
		return nil, err
	}
	data := struct {
		*results
		Summary string   // the table
		Losses  []string // the columns in which Foliot is not the best
		Extra   map[string]string
	}{r, table(p.rows, p.columns, r), losses(p.rows, p.columns, r), nil}
	if p.extra != nil {
		data.Extra = p.extra(r)
	}
	var out bytes.Buffer
	if err := t.ExecuteTemplate(&out, p.name+".md.tmpl", data); err != nil {
		return nil, err
	}
	return append(emptyLines.ReplaceAll(bytes.TrimSpace(out.Bytes()), []byte("\n\n")), '\n'), nil
}

// emptyLines matches what parts of a template leave if they print nothing.
var emptyLines = regexp.MustCompile(`\n{3,}`)

const (
	loop = "500ms" // the length of benchmarks that repeat an operation

	wall = "ns/op"
	p50  = "late_p50_ms"
	p99  = "late_p99_ms"
)

var pages = []page{
	{
		name: "wheel", doc: "benchmarks.md", target: "bench",
		modules: []string{"github.com/zeromicro/go-zero"},
		rows: []row{
			{"time", "package time", false},
			{"go-zero", "go-zero TimingWheel", false},
			{"heap", "sorted heap", false},
			{"rounds", "hashed wheel, rounds", false},
			{"hands", "four-hand clock", false},
			{"buckets", "hierarchy, delay queue", false},
			{"foliot", "Foliot", true},
			{"foliot-keyed", "Foliot, Keyed", true},
			{"foliot-timers", "Foliot, Timers", true},
			{"foliot-batch", "Foliot, NewBatch", true},
		},
		parts: []part{
			{name: "Accuracy", trials: 3},
			{name: "SetRemove", trials: 3, length: loop},
			{name: "SetRemoveParallel", trials: 3, length: loop},
			{name: "Postpone", trials: 3, length: loop},
			{name: "Replace", trials: 3, length: loop},
			{name: "Standing", trials: 3},
			{name: "StandingFew", trials: 3},
			{name: "StandingMany", trials: 3},
			{name: "Million", trials: 3},
		},
		columns: []column{
			{head: "set and remove, ns", part: "SetRemove", unit: wall, better: less},
			{head: "from 64 goroutines, ns", part: "SetRemoveParallel", unit: wall, better: less},
			{head: "postpone, ns", part: "Postpone", unit: wall, better: less},
			{head: "replace, ns", part: "Replace", unit: wall, better: less},
			{head: "bytes each", part: "Standing", unit: "bytes", better: less},
			{head: "bytes each of 10³", part: "StandingFew", unit: "bytes", better: less},
			{head: "collection of 10⁷, ms", part: "StandingMany", unit: "gc_ms", better: less},
			{head: "10⁶ in a second: CPU, ms", part: "Million", unit: "fire_cpu_ms", better: less},
			{head: "late p99, ms", part: "Accuracy", unit: p99, better: less},
			{head: "early", text: worstShare},
		},
	},
	{
		name: "idle", doc: "idle-benchmarks.md", target: "bench-idle",
		notes: []string{"connections", "bound", "timeout", "window"},
		rows: []row{
			{"none", "", false}, // closes nothing
			{"read-deadline", "SetReadDeadline", false},
			{"deadlines", "both deadlines", false},
			{"timer", "time.Timer", false},
			{"scan", "scan", false},
			{"idle-touch", "idle, touches", true},
			{"idle-wrap", "idle, NewListener", true},
			{"idle-kernel", "idle, kernel", true},
			{"none", "", false}, // the difference between the two is noise
		},
		parts: []part{{name: "Sockets"}, {name: "Use", trials: 5, length: loop}},
		columns: []column{
			{head: "closed wrongly", part: "Sockets", unit: "closed_wrongly", better: less},
			{head: "never closed", better: less, value: func(r *results, name string) float64 {
				return r.median("Sockets", name, "never_closed") + r.median("Sockets", name, "blind")
			}},
			{head: "late p50, ms", part: "Sockets", unit: p50},
			{head: "late p99, ms", part: "Sockets", unit: p99, better: less, noise: 1},
			{head: "CPU for a message, µs", part: "Sockets", unit: "message_us", better: less, noise: 0.7}, // as two runs without timeouts differ
			{head: "bytes for a connection", better: less, noise: 4, value: without("Sockets", "bytes", 1)},
			{head: "a read and a write, ns", better: less, noise: 1, value: without("Use", wall, 1)},
		},
		extra: func(r *results) map[string]string {
			cpu := r.trials("Sockets", "none", "message_us")
			if len(cpu) == 0 {
				return map[string]string{"noise": missing}
			}
			return map[string]string{"noise": figure(100*(slices.Max(cpu)-slices.Min(cpu))/r.median("Sockets", "none", "message_us")) + " %"}
		},
	},
	{
		name: "heartbeat", doc: "heartbeat-benchmarks.md", target: "bench-heartbeat",
		rows: []row{
			{"none", "", false}, // the harness alone
			{"heap", "heap: remove and add", false},
			{"heap-inside", "heap in the connections", false},
			{"scan", "a time stamp and a scan", false},
			{"ring", "wheel of lists behind channels", false},
			{"ring-locked", "wheel of lists under a lock", false},
			{"time-add", "package time: Stop and AfterFunc", false},
			{"time-reset", "package time: Reset", false},
			{"wheel", "wheel: Remove and Add", true},
			{"keyed", "wheel.Keyed: Set", true},
			{"extend", "wheel: Extend", true},
			{"extend-1ms", "wheel: Extend, Tick of 1 ms", true},
			{"idle", "idle: TouchRead", true},
		},
		parts: []part{{name: "Heartbeats", trials: 3, together: true}, {name: "Call", trials: 3, length: loop}},
		columns: []column{
			comparedWithHeap("the call, ns", "Call", wall, 1),
			comparedWithHeap("CPU of an hour, s", "Heartbeats", "cpu_ns", 100_000*120/1e9), // of 100,000 connections, each with 120 heartbeats
			comparedWithHeap("bytes for a connection", "Heartbeats", "bytes", 1),
		},
	},
	{
		name: "redis", doc: "redis-benchmarks.md", target: "bench-redis",
		modules: []string{"github.com/hibiken/asynq", "github.com/redis/go-redis/v9", "github.com/redis/rueidis"},
		notes:   []string{"redis"},
		rows: []row{
			{"foliot", "Foliot", true},
			{"asynq", "asynq", false},
			{"asynq-fast", "asynq, 100 ms", false},
			{"original", "the original design", false},
		},
		parts: []part{{name: "Create"}, {name: "Batch"}, {name: "Late"}, {name: "Backlog"}, {name: "Idle"}},
		columns: []column{
			{head: "creates a second, one by one", part: "Create", unit: "per_second", better: more},
			{head: "in batches", part: "Batch", unit: "per_second"},
			{head: "bytes in Redis", part: "Create", unit: "bytes", better: less},
			{head: "late p50, ms", part: "Late", unit: p50},
			{head: "late p99, ms", part: "Late", unit: p99, better: less},
			{head: "early", part: "Late", unit: "early", better: less},
			{head: "lost or twice", better: less, value: func(r *results, name string) (n float64) {
				for _, part := range []string{"Late", "Backlog"} {
					n += r.median(part, name, "lost") + r.median(part, name, "doubled")
				}
				return n
			}},
			{head: "Redis, µs", part: "Late", unit: "redis_us", better: less},
			{head: "its server, µs", part: "Late", unit: "node_us", better: less},
			{head: "backlog, calls a second", part: "Backlog", unit: "per_second", better: more},
			{head: "idle: Redis, ms a second", part: "Idle", unit: "redis_ms", better: less},
		},
	},
	{
		name: "embed", doc: "embed-benchmarks.md", target: "bench-embed",
		modules: []string{
			"github.com/cockroachdb/pebble/v2", "github.com/hibiken/asynq", "github.com/jackc/pgx/v5", "github.com/redis/go-redis/v9", "github.com/redis/rueidis",
			"github.com/riverqueue/river", "github.com/riverqueue/river/riverdriver/riverpgxv5", "github.com/riverqueue/river/riverdriver/riversqlite", "modernc.org/sqlite",
		},
		notes: []string{"redis", "postgres", "sync"},
		rows: []row{
			{"foliot-dir", "Foliot, directory", true},
			{"foliot-redis", "Foliot, Redis", true},
			{"foliot-pg", "Foliot, PostgreSQL", true},
			{"asynq-fast", "asynq, tuned", false},
			{"asynq", "asynq, defaults", false},
			{"river-pg-fast", "River, PostgreSQL, tuned", false},
			{"river-pg", "River, PostgreSQL, defaults", false},
			{"graphile-fast", "graphile-worker, tuned", false},
			{"graphile", "graphile-worker, defaults", false},
			{"river-sqlite-fast", "River, SQLite, tuned", false},
		},
		parts: []part{
			{name: "Create", trials: 3},
			{name: "Batch", trials: 3},
			{name: "Standing"},
			{name: "Backlog", trials: 3},
			{name: "Late"},
			{name: "Soon"},
			{name: "Idle"},
			{name: "Kill"},
			{name: "Hold"},
		},
		columns: []column{
			{head: "creates a second, one by one", part: "Create", unit: "per_second", better: more},
			{head: "in batches", part: "Batch", unit: "per_second"},
			{head: "bytes of a task", part: "Standing", unit: "bytes", better: less},
			{head: "backlog, a second", part: "Backlog", unit: "per_second", better: more},
			{head: "late p99, ms", part: "Late", unit: p99, better: less},
			{head: "early", part: "Late", unit: "early", better: less},
			{head: "short timers, late p99, ms", part: "Soon", unit: p99, better: less},
			{head: "CPU of a task, µs", part: "Late", unit: "cpu_us", better: less},
			{head: "idle, ms a second", part: "Idle", unit: "cpu_ms", better: less},
			{head: "move", text: moves},
			{head: "lost by kill -9", part: "Kill", unit: "lost", better: less},
			{head: "runs again after, s", text: func(r *results, name string) string {
				if over := r.median("Hold", name, "over_s"); !math.IsNaN(over) {
					return "over " + (time.Duration(over) * time.Second).String()
				}
				return figure(r.median("Hold", name, "again_s"))
			}},
		},
	},
}

// worstShare returns the share of early timers in the worst trial.
func worstShare(r *results, name string) string {
	list := r.trials("Accuracy", name, "early_percent")
	switch {
	case len(list) == 0:
		return missing
	case slices.Max(list) == 0:
		return "0"
	}
	return fmt.Sprintf("%.2g %%", slices.Max(list))
}

// without subtracts the value of the contender none.
func without(part, unit string, factor float64) func(*results, string) float64 {
	return func(r *results, name string) float64 {
		return max(0, r.median(part, name, unit)-r.median(part, "none", unit)) * factor
	}
}

// comparedWithHeap shows each cost with its difference to that of the heap.
func comparedWithHeap(head, part, unit string, factor float64) column {
	each := without(part, unit, factor)
	return column{head: head, better: less, value: each, text: func(r *results, name string) string {
		text := figure(each(r, name))
		if percent := 100 * (each(r, name)/each(r, "heap") - 1); name != "heap" && !math.IsNaN(percent) {
			text += fmt.Sprintf(" (%+.0f\u00a0%%)", percent)
		}
		return text
	}}
}

// moves reports whether a library has a call that changes the due time of a
// task that exists. The forms with default settings are not compared.
func moves(_ *results, name string) string {
	switch name {
	case "foliot-dir", "foliot-redis", "foliot-pg", "graphile-fast":
		return "yes"
	case "asynq-fast", "river-pg-fast", "river-sqlite-fast":
		return "no"
	}
	return missing
}
