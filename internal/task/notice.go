package task

// Notice returns the entry that a store passes to its watcher when old becomes
// t, in addition to the entry of a task that waits. There are two reasons:
//
//   - An occurrence ends, and its schedule can wait for that. The entry is the
//     schedule's, with the hint OccurrenceEnded.
//   - A task of a kind is cancelled during an attempt, and its handler must be
//     told. The hint is CancelRequested.
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
