package settings

import "github.com/foliot/foliot/internal/task"

// Suspended reports whether a namespace is suspended. No task of a suspended
// namespace is claimed, including tasks that were run by hand, and no schedule
// is fired.
func (s *Settings) Suspended(namespace string) bool {
	n, ok := s.Get(SettingKey{Kind: NamespaceKind, Name: namespace}).(*NamespaceSettings)
	return ok && n.Suspended
}

// Hold is the reason that keeps the tasks of a lane from being claimed.
type Hold string

// The holds; if several apply, Settings.Hold returns the first of them.
const (
	NotHeld     Hold = ""
	suspension  Hold = "suspended"
	heldByPurge Hold = "purge"
	HeldByPause Hold = "pause"
)

// Hold returns the reason that keeps the tasks of a lane from being claimed at
// now, but a pause and a purge do not hold tasks that were run by hand.
func (s *Settings) Hold(l task.Lane, now task.Millis) Hold {
	q := s.Queue(l.Namespace, l.Queue)
	switch {
	case s.Suspended(l.Namespace):
		return suspension
	case l.Priority == task.RunNow:
		return NotHeld
	case q.PurgeBefore != 0:
		return heldByPurge
	case q.PausedAt(now):
		return HeldByPause
	}
	return NotHeld
}
