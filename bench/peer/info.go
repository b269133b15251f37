package peer

import "github.com/foliot/foliot/bench/record"

// Names of implementations in flags and results.
const (
	None         = "none" // the loop of the harness around calls that do nothing; it is part of every figure, and has no row
	Time         = "time"
	GoZero       = "go-zero"
	Heap         = "heap"
	Rounds       = "rounds"
	Hands        = "hands"
	Buckets      = "buckets"
	Foliot       = "foliot"
	FoliotKeyed  = "foliot-keyed"
	FoliotTimers = "foliot-timers"
	FoliotBatch  = "foliot-batch"
)

// All lists the implementations in the order of the table. docs/benchmarks.md
// describes them.
var All = []record.Contender{
	{Name: Time, Title: "package time"},
	{Name: GoZero, Title: "go-zero TimingWheel"},
	{Name: Heap, Title: "sorted heap"},
	{Name: Rounds, Title: "hashed wheel, rounds"},
	{Name: Hands, Title: "four-hand clock"},
	{Name: Buckets, Title: "hierarchy, delay queue"},
	{Name: Foliot, Title: "Foliot", Ours: true},
	{Name: FoliotKeyed, Title: "Foliot, Keyed", Ours: true},
	{Name: FoliotTimers, Title: "Foliot, Timers", Ours: true},
	{Name: FoliotBatch, Title: "Foliot, NewBatch", Ours: true},
	{Name: None},
}
