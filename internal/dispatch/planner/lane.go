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
	seq  uint64 // Planner.seq when it became known: a read with a smaller seq is older
	at   int    // its index in lane.order
}

func (it *item) position() task.Position { return task.Position{Due: it.due, Name: it.name} }
func (it *item) before(other *item) bool { return it.position().Less(other.position()) }
func (it *item) place() *int             { return &it.at }

// lane is the state of one lane of the store.
//
// All tasks up to cursor have been read. Later changes to that part arrive as
// hints. If behind is false, cursor is the end of the window at the time of the
// read. If behind is true, there were more tasks than room: tasks after cursor
// are ignored until a later read gets them.
type lane struct {
	name                                task.Lane
	number                              uint64 // lanes that are otherwise equal run in the order in which they were opened
	destination                         *destination
	queue                               *queue
	queueDestination                    *queueDestination
	inQueue, inDestination, inNamespace int // its indexes in their lists

	known  map[string]*item
	order  heap[*item] // the same tasks, the earliest first
	cursor task.Position
	behind bool

	// scan means that the lane is read again from its start, until a read finds
	// no new task. Either the store's head is earlier than all known tasks, so
	// a hint was missed, or checkLane has requested the scan. scanned is the
	// end of the part that was read again.
	scan       bool
	scanned    task.Position
	rescanned  time.Duration // when checkLane last requested a scan
	needsRead  bool          // it is in namespace.readQueue
	readPlace  int           // its index there
	readSince  task.Millis   // its rank there: see requestRead
	readNumber uint64        // if lanes have the same readSince, the smallest number is read first
	read       task.Millis   // when a read was planned last; zero means never
	reading    bool          // a read from its cursor is under way
	firing     bool          // it is in Planner.firing

	opened     time.Duration // see waited
	readySince time.Duration // when it last became ready
	rests      bool          // it is blocked by LimitUnsent, which is no obstacle: see waited

	running   int // attempts, from the claim to the settlement
	allowance int // see slots
	state     laneState
	node      node[*lane] // among the ready lanes of its queue and priority
	wakeup    Wakeup      // set for the due time of its first task while waiting
	served    task.Millis // when a task was last picked; zero means never
	lastPick  uint64      // the number of that pick

	foreseen task.Millis // the due time for which dueSoon last recorded expected work
	emptied  task.Millis // when it was first seen idle; zero means that it is not idle
}

type laneState uint8

const (
	idle    laneState = iota // no task is known
	waiting                  // its first task is not due yet
	ready                    // its first task is due, and the lane is in the tree of its queue and priority
	blocked                  // its first task is due, and its destination or a limit of the lane stops it
)

// urgent reports whether l's tasks were run by hand.
func (l *lane) urgent() bool { return l.name.Priority == task.RunNow }

// quarantined reports whether l's tasks might kill the process.
func (l *lane) quarantined() bool { return l.name.Priority == task.Quarantine }

// busy reports whether l's first task is due.
func (l *lane) busy() bool { return l.state == ready || l.state == blocked }

// earliest returns the earliest known due time.
func (l *lane) earliest() task.Millis {
	if l.order.len() == 0 {
		return math.MaxInt64
	}
	return l.order.min().due
}

// next returns a lower bound of the due times of l's tasks, including tasks
// that are not read yet.
func (l *lane) next() task.Millis {
	if l.behind {
		return min(l.earliest(), l.cursor.Due)
	}
	return l.earliest()
}

// before and place implement ordered for namespace.readQueue.
func (l *lane) before(other *lane) bool {
	return l.readSince < other.readSince || l.readSince == other.readSince && l.readNumber < other.readNumber
}

func (l *lane) place() *int { return &l.readPlace }

// left reports whether p is in the part that is left for a later read.
func (l *lane) left(p task.Position) bool { return l.behind && l.cursor.Less(p) }

// truncate keeps the keep earliest tasks, at least one. The other tasks, and
// all that were left before, are read again later. It returns how many tasks it
// dropped.
func (l *lane) truncate(keep int) int {
	gone := l.cut(keep)
	fromHints := l.cursor == task.Position{} && !l.behind // hints opened the lane, and they are nearly all it has
	if last := l.order.items[keep-1].position(); fromHints || last.Less(l.cursor) {
		l.cursor = last
	}
	l.behind = true
	return gone
}

// clear drops all tasks and leaves them to be read again from the start. It
// returns how many tasks it dropped.
func (l *lane) clear() int {
	gone := l.order.len()
	l.known, l.order = map[string]*item{}, heap[*item]{}
	l.cursor, l.behind, l.scan = task.Position{}, true, false
	return gone
}

// trim drops the tasks after p and returns their number.
func (l *lane) trim(p task.Position) int {
	keep := 0
	for _, it := range l.order.items {
		if !p.Less(it.position()) {
			keep++
		}
	}
	return l.cut(keep)
}

// cut keeps the keep earliest tasks and returns how many it dropped.
func (l *lane) cut(keep int) int {
	items := l.order.items
	gone := len(items) - keep
	if gone == 0 {
		return 0
	}
	kept := make([]*item, keep)
	if keep < len(items)/8 {
		for i := range kept {
			kept[i] = l.order.min()
			l.order.remove(kept[i])
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
	l.order = heap[*item]{items: kept} // a sorted slice is a heap
	l.known = make(map[string]*item, keep)
	for i, it := range kept {
		it.at = i
		l.known[it.name] = it
	}
	return gone
}
