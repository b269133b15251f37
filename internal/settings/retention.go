package settings

import (
	"cmp"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// FormerRetention has retentions that no queue of a namespace has any more, but
// that records can still have: those that ended before a queue got a longer one.
type FormerRetention struct {
	KeepFinished time.Duration `json:"keep_finished,omitempty"`
	KeepDead     time.Duration `json:"keep_dead,omitempty"`
	Until        task.Millis   `json:"until"` // the last of these records is removed by then
}

// ShortestRetention returns the shortest retentions that kept records of a
// namespace can have: base, and those that a queue has or had. A store cannot
// know a shorter base of an earlier process.
func (s *Settings) ShortestRetention(base task.Policy, namespace string, now task.Millis) task.Policy {
	p := task.Policy{KeepFinished: base.KeepFinished, KeepDead: base.KeepDead}
	for _, r := range s.List(QueueKind, namespace) {
		q := r.(*QueueSettings)
		p.KeepFinished, p.KeepDead = shorter(p.KeepFinished, q.KeepFinished), shorter(p.KeepDead, q.KeepDead)
	}
	if n := s.Namespace(namespace); n != nil && n.Former != nil && now < n.Former.Until {
		p.KeepFinished, p.KeepDead = shorter(p.KeepFinished, n.Former.KeepFinished), shorter(p.KeepDead, n.Former.KeepDead)
	}
	return p
}

// shorter returns the shorter of two retentions. A zero one is not set.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return cmp.Or(a, b)
	}
	return min(a, b)
}

// otherNodes is a bound of the time after which all servers know a change of the
// settings. Until then they end tasks with the old retention.
const otherNodes = time.Minute

// formerRetention returns the change that notes the retentions of a queue whose
// settings change from old to q, or nil if they did not become longer.
func (s *Settings) formerRetention(now task.Millis, old, q *QueueSettings) []SettingChange {
	finished, dead := lengthened(old.KeepFinished, q.KeepFinished), lengthened(old.KeepDead, q.KeepDead)
	if finished == 0 && dead == 0 {
		return nil
	}
	n, f := *s.Namespace(old.Namespace), FormerRetention{}
	if n.Former != nil && now < n.Former.Until {
		f = *n.Former
	}
	f.KeepFinished, f.KeepDead = shorter(f.KeepFinished, finished), shorter(f.KeepDead, dead)
	f.Until = max(f.Until, now.Add(max(finished, dead)+otherNodes))
	n.Former = &f
	return change(&n)
}

// lengthened returns the old retention if the new one is longer, or may be
// longer because the store decides it. Otherwise it returns 0.
func lengthened(old, after time.Duration) time.Duration {
	if after != 0 && after <= old {
		return 0
	}
	return old
}
