package planner

import (
	"math"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// item is a waiting task that the Planner knows.
type item struct {
	name string
	due  task.Millis
	seq  uint64 // window.seq when it became known: a read with a smaller seq is older
	at   int    // its index in ahead.order
}

func (it *item) position() task.Position { return task.Position{Due: it.due, Name: it.name} }
func (it *item) before(other *item) bool { return it.position().Less(other.position()) }
func (it *item) place() *int             { return &it.at }

// lane is the state of one lane of the store.
type lane struct {
	name                                task.Lane
	number                              uint64 // lanes that are otherwise equal run in the order in which they were opened
	destination                         *destination
	queue                               *queue
	queueDestination                    *queueDestination
	inQueue, inDestination, inNamespace int // its indexes in their lists

	ahead
	turn
	wakeup  Wakeup      // set for the due time of its first task while waiting
	firing  bool        // it is in Planner.firing
	emptied task.Millis // when it was first seen idle; zero means that it is not idle

	marked bool // it is in Planner.lanesChanged
	refit  bool // it may have too many tasks, or room for more: see mark
	gone   bool // it was dropped
}

// ahead is the knowledge of the window about a lane.
//
// All tasks up to cursor have been read. Later changes to that part arrive as
// hints. If behind is false, cursor is the end of the window at the time of the
// read. If behind is true, there were more tasks than room: tasks after cursor
// are ignored until a later read gets them.
type ahead struct {
	known  map[string]*item
	order  heap[*item] // the same tasks, the earliest first
	cursor task.Position
	behind bool

	// scan means that the lane is read again from its start, until a read finds
	// no new task. A scan starts if the store's first task is earlier than all
	// known tasks, because then a hint was lost, or if checkLane requests it.
	// scanned is the end of the part that was read again.
	scan       bool
	scanned    task.Position
	rescanned  time.Duration // when checkLane last requested a scan
	needsRead  bool          // it is in namespace.readQueue
	readPlace  int           // its index there
	readSince  task.Millis   // its rank there: see requestRead
	readNumber uint64        // if lanes have the same readSince, the smallest number is read first
	read       task.Millis   // when a read was planned last; zero means never
	reading    bool          // a read from its cursor is under way
}

// turn is the knowledge of the chooser about a lane.
type turn struct {
	state         laneState
	obstacleEnded time.Duration // see waited
	readySince    time.Duration // when it last became ready
	rests         bool          // it is blocked by LimitUnsent, which is no obstacle: see waited
	running       int           // attempts, from the claim to the settlement
	allowance     int           // see slots
	node          node[*lane]   // among the ready lanes of its queue and priority
	served        task.Millis   // when a task was last picked; zero means never
	lastPick      uint64        // the number of that pick
}

type laneState uint8

const (
	idle    laneState = iota // no task is known
	waiting                  // its first task is not due yet
	ready                    // its first task is due, and the lane is in the tree of its queue and priority
	blocked                  // its first task is due, and its destination or a limit of the lane stops it
)

// busy reports whether the first task of such a lane is due.
func (s laneState) busy() bool { return s == ready || s == blocked }

// busy reports whether the first task of l is due.
func (l *lane) busy() bool { return l.state.busy() }

// urgent reports whether l's tasks were run by hand.
func (l *lane) urgent() bool { return l.name.Priority == task.RunNow }

// quarantined reports whether l's tasks might kill the process.
func (l *lane) quarantined() bool { return l.name.Priority == task.Quarantine }

// schedules reports whether l is a lane of schedules.
func (l *lane) schedules() bool { return l.name.Queue == task.ScheduleQueue }

// before and place implement ordered for namespace.readQueue.
func (l *lane) before(other *lane) bool {
	return l.readSince < other.readSince || l.readSince == other.readSince && l.readNumber < other.readNumber
}

func (a *ahead) place() *int { return &a.readPlace }

// earliest returns the earliest known due time.
func (a *ahead) earliest() task.Millis {
	if a.order.len() == 0 {
		return math.MaxInt64
	}
	return a.order.min().due
}

// next returns a lower bound of the due times of the lane's tasks, including
// tasks that are not read yet.
func (a *ahead) next() task.Millis {
	if a.behind {
		return min(a.earliest(), a.cursor.Due)
	}
	return a.earliest()
}

// skips reports whether p is after the cursor, in the part that a later read
// gets.
func (a *ahead) skips(p task.Position) bool { return a.behind && a.cursor.Less(p) }

// overdue returns how many known tasks are due, and for how long the first of
// them has been due.
func (a *ahead) overdue(now task.Millis) (n int, oldest time.Duration) {
	if n = a.dueBy(now, math.MaxInt); n > 0 {
		oldest = now.Sub(a.earliest())
	}
	return n, oldest
}

// dueBy counts the known tasks that are due at or before until, and stops at
// most. It visits only those tasks and their neighbours in the heap.
func (a *ahead) dueBy(until task.Millis, most int) (n int) {
	items := a.order.items
	var count func(i int)
	count = func(i int) {
		if i >= len(items) || items[i].due > until || n >= most {
			return
		}
		n++
		count(2*i + 1)
		count(2*i + 2)
	}
	count(0)
	return n
}

// truncate drops all but the earliest keep tasks, where keep must be at least
// 1, and returns how many it dropped. Dropped tasks are read again later.
func (a *ahead) truncate(keep int) int {
	gone := a.cut(keep)
	fromHints := a.cursor == task.Position{} && !a.behind // hints opened the lane, so nearly all its tasks are known
	if last := a.order.items[keep-1].position(); fromHints || last.Less(a.cursor) {
		a.cursor = last
	}
	a.behind = true
	return gone
}

// clear drops all tasks, leaves them to be read again from the start, and
// returns how many it dropped.
func (a *ahead) clear() int {
	gone := a.order.len()
	a.known, a.order = map[string]*item{}, heap[*item]{}
	a.cursor, a.behind, a.scan = task.Position{}, true, false
	return gone
}

// trim drops the tasks after p and returns their number.
func (a *ahead) trim(p task.Position) int {
	keep := 0
	for _, it := range a.order.items {
		if !p.Less(it.position()) {
			keep++
		}
	}
	return a.cut(keep)
}

// cut drops all but the earliest keep tasks, and returns how many it dropped.
func (a *ahead) cut(keep int) int {
	items := a.order.items
	gone := len(items) - keep
	if gone == 0 {
		return 0
	}
	kept := make([]*item, keep)
	if keep < len(items)/8 {
		for i := range kept {
			kept[i] = a.order.min()
			a.order.remove(kept[i])
		}
	} else {
		slices.SortFunc(items, func(a, b *item) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		copy(kept, items)
	}
	a.order = heap[*item]{items: kept} // a sorted slice is a heap
	a.known = make(map[string]*item, keep)
	for i, it := range kept {
		it.at = i
		a.known[it.name] = it
	}
	return gone
}
