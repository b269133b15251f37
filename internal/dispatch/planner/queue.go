package planner

import (
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// namespace is the state of one namespace. Namespaces take turns, and so do the
// queues of each namespace.
type namespace struct {
	name   string
	queues waitTree[*queue] // queues that can start a task
	busy   int              // number of lanes with a task that is due
	node   node[*namespace]
	servedRank

	suspended bool // no task is claimed and no schedule is fired: see queue.stopped

	// All its members, in no order.
	lanes        []*lane
	all          []*queue
	destinations []*destination

	known     int         // number of known tasks
	readQueue heap[*lane] // lanes to read
	keptHints int         // number of its hints in window.keptHints
	ended     []task.Key  // schedules that may wait for an occurrence that has ended
	round     round
}

// queue is the state of a queue: its limits, and its lanes by priority.
type queue struct {
	key          queueKey
	namespace    *namespace
	settings     *settings.QueueSettings
	bands        [task.Quarantine + 1]priorityBand // the key is the priority
	destinations map[string]*queueDestination
	lanes        []*lane
	inNamespace  int // its index in the namespace's list
	update       update
	wakeup       Wakeup // set for the next token, or for the end of a pause
	marked       bool   // it is in Planner.queuesChanged
	gone         bool   // it was forgotten

	free          time.Duration // when a hold or a suspension of the queue last ended, or when it was added; not valid during one
	obstacleEnded time.Duration // see waited
	hasObstacle   bool          // a limit or a setting stops its due tasks
	held          bool          // only tasks that were run by hand are claimed and kept
	stopped       bool          // its namespace is suspended: no task is claimed or kept, and no schedule is fired
	bucket        bucket
	lease         *LimitLease // nil means that the queue has no limits, or that no other node shares them
	running       int
	tried         [classes]int // attempts under way, by the class of their destination at the pick

	busy int   // number of lanes with a task that is due
	pass int64 // the pass of the priority that was served last
	node node[*queue]
	servedRank

	quarantineNode     node[*queue] // its node in the tree of the quarantine slot
	lastQuarantinePick uint64       // the number of its last pick in quarantine; zero means none
}

type queueKey struct{ namespace, name string }

// queueDestination holds the lanes of one queue for one destination.
type queueDestination struct {
	lanes   []*lane // at most one for each priority
	running int
	lease   *LimitLease // nil means that there is no limit per destination, or that no other node shares it
}

// priorityBand holds the lanes of one priority of a queue.
type priorityBand struct {
	lanes waitTree[*lane] // ready lanes
	busy  int             // number of lanes with a task that is due, ready or not
	pass  int64           // the band with the smallest pass is served next
}

// servedRank is the rank of a queue in its namespace, or of a namespace. The
// queue or namespace that has waited longest is next. Its wait begins when it
// is served, or later when it becomes busy.
type servedRank struct {
	since  uint64 // the number of the latest pick when the wait began
	number uint64
}

func (r *servedRank) rank() rank { return rank{since: int64(r.since), number: r.number} }

// quarantined reports whether q has a lane in quarantine that could start a
// task if the quarantine slot and the limits of q allowed it.
func (q *queue) quarantined() bool { return q.bands[task.Quarantine].lanes.size > 0 }

// needsToken reports whether q has a ready lane with tasks that obey the rate.
func (q *queue) needsToken() bool {
	return q.quarantined() || q.bands[task.High].lanes.size+q.bands[task.Normal].lanes.size+q.bands[task.Low].lanes.size > 0
}

// hasReady reports whether q has a ready lane.
func (q *queue) hasReady() bool { return q.needsToken() || q.bands[task.RunNow].lanes.size > 0 }

// holds reports whether tasks of q with this priority must wait because q is
// held or its namespace is suspended.
func (q *queue) holds(p task.Priority) bool { return q.stopped || q.held && p != task.RunNow }

// checkHold compares q with its settings, because a hold can have begun or
// ended. Tasks of a held queue are not kept, except those that were run by
// hand, because they would use the room of other queues. They are read again
// after the hold.
func (pl *Planner) checkHold(q *queue, now task.Millis) {
	pl.markQueue(q)
	held, stopped := q.settings.Held(now), q.namespace.suspended
	if held == q.held && stopped == q.stopped {
		return
	}
	if q.held && !held || q.stopped && !stopped {
		pl.window.needsSurvey = true
		q.namespace.round.restartSoon()
	}
	q.held, q.stopped, q.free = held, stopped, pl.monotonic
	pl.markAll(&q.update)
}
