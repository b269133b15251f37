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

// details has the sentence about each limit. Its arguments are the namespace, the
// queue, the destination or kind, and the name of the task.
var details = map[planner.Limit]string{
	planner.LimitSuspended:      "the namespace %[1]s is suspended; foliot namespace set %[1]s --no-suspended resumes it",
	planner.LimitPurge:          "the queue %[2]s is being purged, which cancels the task",
	planner.LimitPause:          "the queue %[2]s is paused; foliot queue resume %[2]s resumes it",
	planner.LimitRunner:         "this process does not run tasks to %[3]s; start one that does",
	planner.LimitBreaker:        "attempts at %[3]s failed repeatedly, so its breaker is not closed; correct the receiver",
	planner.LimitRetryAfter:     "%[3]s asked for a delay (Retry-After)",
	planner.LimitPerDestination: "the queue %[2]s allows no more attempts at its destination at once; foliot queue set %[2]s --per-destination changes it",
	planner.LimitUnsent:         "for a local reason, the server could not send the last request to %[3]s; its log shows more",
	planner.LimitConcurrency:    "the concurrency of the queue %[2]s is used up; foliot queue set %[2]s --concurrency changes it",
	planner.LimitRate:           "the rate of the queue %[2]s is used up; foliot queue set %[2]s --rate changes it",
	planner.LimitKind:           "no more handlers of %[3]s may run at once",
	planner.LimitQuarantine:     "tasks like %[4]s may have ended the process, so one of them runs at a time",
	planner.LimitSlots:          "the server has no free slot for attempts at %[3]s; foliot top shows more",
	limitNode:                   "this server does not own the shard of %[4]s; ask the owner, which foliot cluster shards shows",
	planner.LimitTurn:           "nothing holds %[4]s back: tasks that became due earlier or have a higher priority start first, and if the store refuses claims, the log has the reason",
}

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
	w := &wire.WaitsFor{Reason: string(by), Detail: fmt.Sprintf(details[by], t.Namespace, t.Queue, t.Request.Destination, t.Name)}
	if !until.IsZero() {
		w.Until = wire.FormatTime(until)
	}
	return w
}
