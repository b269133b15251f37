// Package measure runs one measurement in this process.
package measure

import (
	"fmt"

	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/wheel"
)

// Names of workloads on the command line and in the raw results.
const (
	AddRemove = "add-remove"
	Heartbeat = "heartbeat"
	Hot       = "heartbeat-hot"
	Replace   = "replace"
	Standing  = "standing"
	Million   = "million"
	Idle      = "idle"
	Accuracy  = "accuracy"
	Floors    = "floors"
)

// Run runs the job j. It returns an error if the implementation did not do the
// work, or if the harness failed.
func Run(j record.Job) (record.Values, error) {
	if j.Workload == Floors {
		return measureFloors(j), nil
	}
	run, ok := peers[j.Peer]
	if !ok {
		return nil, fmt.Errorf("there is no implementation %q", j.Peer)
	}
	return run(j)
}

var peers = map[string]func(record.Job) (record.Values, error){
	peer.None:          with(peer.OpenNone),
	peer.Time:          with(peer.OpenTime),
	peer.GoZero:        with(peer.OpenGoZero),
	peer.Heap:          with(peer.OpenHeap),
	peer.Rounds:        with(peer.OpenRounds),
	peer.Hands:         with(peer.OpenHands),
	peer.Buckets:       with(peer.OpenBuckets),
	peer.Foliot:        with(func(s peer.Sink) peer.Timers[wheel.ID] { return peer.OpenFoliot(s, nil) }),
	peer.FoliotKeyed:   with(peer.OpenFoliotKeyed),
	peer.FoliotTimers:  with(peer.OpenFoliotTimers),
	peer.FoliotInline:  with(func(s peer.Sink) peer.Timers[wheel.ID] { return peer.OpenFoliot(s, wheel.Inline) }),
	peer.FoliotReset:   with(peer.OpenFoliotReset),
	peer.FoliotPointer: with(peer.OpenFoliotPointer),
	peer.FoliotBatch:   with(peer.OpenFoliotBatch),
}

// opener opens an implementation. Its timers report to the sink.
type opener[H any] func(peer.Sink) peer.Timers[H]

func with[H any](open opener[H]) func(record.Job) (record.Values, error) {
	return func(j record.Job) (record.Values, error) {
		switch j.Workload {
		case AddRemove, Heartbeat, Hot, Replace:
			return throughput(j, open)
		case Standing:
			return standing(j, open)
		case Million:
			return million(j, open)
		case Idle:
			return idle(j, open)
		case Accuracy:
			return accuracy(j, open)
		}
		return nil, fmt.Errorf("there is no workload %q", j.Workload)
	}
}
