package task

// Notice returns the entry that a store passes to its watcher when old becomes
// t, in addition to the entry of a task that waits. There are two reasons:
//
//   - An occurrence ends, and its schedule may wait for that. The entry is that
//     of the schedule, with the hint OccurrenceEnded.
//   - A task with a kind is cancelled during an attempt, and the context of its
//     handler must end. The hint is CancelRequested.
//
// Notice returns false if there is no reason.
func Notice(old, t *Task) (Entry, bool) {
	switch {
	case old == nil || t == nil:
		return Entry{}, false
	case t.CancelRequested && !old.CancelRequested && t.Request.Kind != "":
		e := t.Entry()
		e.Due, e.Hint = 0, CancelRequested
		return e, true
	case !t.NotifySchedule || !old.State.Live() || t.State.Live():
		return Entry{}, false
	}
	name, _, ok := OccurrenceOf(t.Name)
	return Entry{Name: "@" + name, Lane: ScheduleLane(t.Namespace), Hint: OccurrenceEnded}, ok
}

// Hint returns the entry that watchers get after a change from old to t: a Notice, or
// that of a task that waits anew. Either of old and t can be nil.
func Hint(old, t *Task) (e Entry, ok bool) {
	if e, ok = Notice(old, t); ok {
		return e, true
	}
	if t == nil || t.State != Scheduled || old != nil && old.State == Scheduled && old.Entry() == t.Entry() {
		return Entry{}, false
	}
	return t.Entry(), true
}
