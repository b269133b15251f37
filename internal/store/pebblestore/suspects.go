package pebblestore

import "github.com/foliot/foliot/internal/task"

// suspects decides which tasks may have caused a stop that was not in order:
// those that were due by then. Their claims are synced before they are
// answered. Otherwise a task that kills the process could do so forever: its
// claim would be lost with the process, and the restart would not increase its
// counter.
//
// Only the first death that a task causes at one due time can stay uncounted.
// The task is claimed when it is due, so before that death. It is left with the
// same due time, whether the claim was lost or not. So at each later start it
// is a suspect, until a settlement gives it a later due time or ends it. (A
// clock that is set back weakens this until it has caught up.)
//
// A task that was left running before is a suspect whenever it is due: in
// quarantine its attempt is interrupted for other tasks, and it gets a new due
// time. A task that was run by hand has a new due time too, and is a suspect
// all the same: people run the tasks of a paused queue by hand, again and
// again.
//
// Only the due time decides, so this state need not end. A suspect in a queue
// that is paused for months stays one for months, and costs other claims
// nothing. The earlier rule synced all claims until no suspect was left. In
// such a queue that end never came, and the search for it cost each commit
// O(lanes).
type suspects struct {
	on    bool
	until task.Millis // when the store was opened
}

// has reports whether t, which is being claimed, is a suspect.
func (s suspects) has(t *task.Task) bool {
	return s.on && (t.Due <= s.until || t.RunNow || t.Reclaims > 0)
}
