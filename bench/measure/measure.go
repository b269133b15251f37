// Package measure runs one measurement in a child process.
package measure

import (
	"fmt"
	"runtime"

	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
)

// The workloads.
const (
	AddRemove = "add-remove" // a timer is set and removed at once, among n standing ones
	Heartbeat = "heartbeat"  // a random one of n standing timers is extended
	Replace   = "replace"    // a random one of n standing timers is removed, and another one set
	Standing  = "standing"   // bytes of a standing timer, and a full garbage collection among n
	Million   = "million"    // n timers are due within one second
	Accuracy  = "accuracy"   // when timers fire while there is little to do; each must fire once
)

// Meter is the child process. Its method is that of package rpc.
type Meter struct{}

// Measure runs a job. It returns an error if the implementation did not do the
// work, or if the harness failed. A job of one goroutine gets one processor, so
// that its elapsed time is its whole cost, including garbage collection.
func (*Meter) Measure(j record.Job, out *record.Values) (err error) {
	run, ok := peers[j.Contender]
	if !ok {
		return fmt.Errorf("there is no implementation %q", j.Contender)
	}
	if j.Callers <= 1 && j.Part != Million && j.Part != Accuracy {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	*out, err = run(j)
	return err
}

var peers = map[string]func(record.Job) (record.Values, error){
	peer.None:         with(peer.OpenNone),
	peer.Time:         with(peer.OpenTime),
	peer.GoZero:       with(peer.OpenGoZero),
	peer.Heap:         with(peer.OpenHeap),
	peer.Rounds:       with(peer.OpenRounds),
	peer.Hands:        with(peer.OpenHands),
	peer.Buckets:      with(peer.OpenBuckets),
	peer.Foliot:       with(peer.OpenFoliot),
	peer.FoliotKeyed:  with(peer.OpenFoliotKeyed),
	peer.FoliotTimers: with(peer.OpenFoliotTimers),
	peer.FoliotBatch:  with(peer.OpenFoliotBatch),
}

// opener opens an implementation. Its timers report to the sink.
type opener[H any] func(peer.Sink) peer.Timers[H]

func with[H any](open opener[H]) func(record.Job) (record.Values, error) {
	return func(j record.Job) (record.Values, error) {
		switch j.Part {
		case AddRemove, Heartbeat, Replace:
			return throughput(j, open)
		case Standing:
			return standing(j, open)
		case Million:
			return million(j, open)
		case Accuracy:
			return accuracy(j, open)
		}
		return nil, fmt.Errorf("there is no workload %q", j.Part)
	}
}
