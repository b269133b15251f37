package pebblestore

import "github.com/foliot/foliot/internal/task"

// suspects decides which tasks may have caused a stop that was not in order: those
// that were due by then. Their claims are synced before they are answered, because
// otherwise a task that kills the process loses its claim each time, and its kills are
// never counted. Only the first death that a task causes at one due time can stay
// uncounted: the task keeps that due time, so at each later start it is a suspect.
//
// A task that was left running before is always a suspect, because it gets a new due
// time in quarantine, and so is a task that was run by hand.
type suspects struct {
	on    bool
	until task.Millis // when the store was opened
}

// has reports whether t, which is being claimed, is a suspect.
func (s suspects) has(t *task.Task) bool {
	return s.on && (t.Due <= s.until || t.RunNow || t.Reclaims > 0)
}
