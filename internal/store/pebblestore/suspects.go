package pebblestore

import "github.com/foliot/foliot/internal/task"

// suspects says, after a stop that was not in order, which tasks may have caused
// it: those that were due by then. Their claims are synced before they are
// answered. Otherwise a task that kills the process would do so for ever: its
// claim dies with the process, and the counter that the restart would raise
// stays 0.
//
// It holds that of the deaths of a process that a task causes at one due time only
// the first may go uncounted. For it is claimed when it is due, so before that
// death, and is left behind with the same due time, whether the claim was lost or
// not: at each start that follows it is a suspect, until a settlement gives it a
// later due time or ends it. (A clock that is set back takes part of that away
// until it has caught up.) What was left behind before is one whenever it is due:
// in quarantine it gives way to others, and then has a new due time. So has what
// was run by hand, and is a suspect nonetheless: people do that with what stands
// in a paused queue, again and again.
//
// The due time alone decides, so nothing has to end: a suspect in a queue that is
// paused for months is one for months, and costs the claims of others nothing. The
// rule before was to sync all claims until no suspect was left. That end never
// came there, and to look for it cost each commit O(lanes).
type suspects struct {
	on    bool
	until task.Millis // when the store was opened
}

// has reports whether t, which is claimed, is one of them.
func (s suspects) has(t *task.Task) bool {
	return s.on && (t.Due <= s.until || t.Urgent || t.Reclaims > 0)
}
