package engine

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// limitNode means that another node owns the task, and only that node knows why
// it waits.
const limitNode planner.Limit = "node"

// details has the sentence about each limit, with the namespace, the queue, the
// destination or the kind as its argument.
var details = map[planner.Limit]struct {
	format string
	of     func(*task.Task) string
}{
	planner.LimitSuspended:      {"the namespace %[1]s is suspended; foliot namespace set %[1]s --no-suspended resumes it", namespaceOf},
	planner.LimitPurge:          {"the queue %s is being purged, which cancels the task", queueOf},
	planner.LimitPause:          {"the queue %[1]s is paused; foliot queue resume %[1]s resumes it", queueOf},
	planner.LimitRunner:         {"this process does not run tasks to %s; start one that does", destinationOf},
	planner.LimitBreaker:        {"attempts at %s failed repeatedly, so its breaker is not closed; correct the receiver", destinationOf},
	planner.LimitRetryAfter:     {"%s asked for a delay (Retry-After)", destinationOf},
	planner.LimitPerDestination: {"the queue %[1]s allows no more attempts at its destination at once; foliot queue set %[1]s --per-destination changes it", queueOf},
	planner.LimitUnsent:         {"for a local reason, the server could not send the last request to %s; its log shows more", destinationOf},
	planner.LimitConcurrency:    {"the concurrency of the queue %[1]s is used up; foliot queue set %[1]s --concurrency changes it", queueOf},
	planner.LimitRate:           {"the rate of the queue %[1]s is used up; foliot queue set %[1]s --rate changes it", queueOf},
	planner.LimitKind:           {"no more handlers of %s may run at once", destinationOf},
	planner.LimitQuarantine:     {"tasks like %s may have ended the process, so one of them runs at a time", nameOf},
	planner.LimitSlots:          {"the server has no free slot for attempts at %s; foliot top shows more", destinationOf},
	limitNode:                   {"this server does not own the shard of %s; ask the owner, which foliot cluster shards shows", nameOf},
	planner.LimitTurn:           {"nothing holds %s back: tasks that became due earlier or have a higher priority start first", nameOf},
}

func nameOf(t *task.Task) string        { return t.Name }
func namespaceOf(t *task.Task) string   { return t.Namespace }
func queueOf(t *task.Task) string       { return t.Queue }
func destinationOf(t *task.Task) string { return t.Request.Destination }

// WaitsFor implements api.Engine, and returns nil if the task is not scheduled,
// or if it is not due and no setting holds it.
func (n *Node) WaitsFor(t *task.Task) *wire.WaitsFor {
	if t.State != task.Scheduled {
		return nil
	}
	by, until := n.dispatch.WaitsFor(t.Lane())
	if !by.Holds() {
		if t.Due > task.CeilMillis(n.Now()) {
			return nil
		}
		if s, shared := n.Store.(interface{ Owns(task.Key) bool }); shared && !s.Owns(t.Key()) {
			by, until = limitNode, time.Time{}
		}
	}
	d := details[by]
	w := &wire.WaitsFor{Reason: string(by), Detail: fmt.Sprintf(d.format, d.of(t))}
	if !until.IsZero() {
		w.Until = wire.FormatTime(until)
	}
	return w
}
