package planner

import (
	"math"
	"slices"

	"github.com/foliot/foliot/internal/task"
)

// item is a waiting task that the Planner knows of.
type item struct {
	name string
	due  task.Millis
	seq  uint64 // of what told us last: an answer read before that is older
	at   int    // its place in lane.order
}

func (it *item) position() task.Position { return task.Position{Due: it.due, Name: it.name} }
func (it *item) before(other *item) bool { return it.position().Less(other.position()) }
func (it *item) place() *int             { return &it.at }

// lane is what is known of one lane of the store.
//
// Up to cursor everything was read once, and what came later is told by hints.
// If behind is false, cursor is the end of the window as it was then. If it is
// true there was more than there was room for: what lies after cursor is not
// taken in, it will be read in its turn.
type lane struct {
	name                                task.Lane
	number                              uint64 // lanes that are equal otherwise run in the order they were met
	destination                         *destination
	queue                               *queue
	queueDestination                    *queueDestination
	inQueue, inDestination, inNamespace int // its places in their lists

	known  map[string]*item
	order  heap[*item] // the same, the earliest first
	cursor task.Position
	behind bool

	// scan says that the store's head is earlier than all that is known: a
	// hint was missed. The lane is read again from its start, up to scanned so
	// far, for as long as that brings to light anything new.
	scan      bool
	scanned   task.Position
	needsRead bool        // stands in namespace.readQueue
	readPlace int         // its place there
	readSince task.Millis // since when it waits there: see requestRead
	asked     uint64      // of lanes that wait equally long the first is read first
	read      task.Millis // when a read of it was planned last, 0: never
	reading   bool        // it is being read on from its cursor
	firing    bool        // stands in Planner.firing

	running   int // attempts, from the claim to the settlement
	allowance int // see slots
	state     laneState
	node      node[*lane] // among the ready ones of its queue and priority
	wakeup    Wakeup      // while waiting: for when its first task is due
	served    task.Millis // when a task was last picked, 0: never
	turn      uint64      // the same, as a number

	foreseen task.Millis // the due time that was foreseen last
	emptied  task.Millis // when it was seen to be idle first, 0: it is not
}

type laneState uint8

const (
	idle    laneState = iota // nothing known
	waiting                  // for its first task to be due
	ready                    // its first task is due, and it stands in the tree of its queue and priority
	barred                   // its first task is due, and something other than slots and its queue stands in the way
)

// urgent reports whether l's tasks were run by hand.
func (l *lane) urgent() bool { return l.name.Priority == task.Urgent }

// quarantined reports whether l's tasks may kill the process.
func (l *lane) quarantined() bool { return l.name.Priority == task.Quarantine }

// busy reports whether l's first task is due.
func (l *lane) busy() bool { return l.state == ready || l.state == barred }

// earliest returns the earliest due time that is known.
func (l *lane) earliest() task.Millis {
	if l.order.len() == 0 {
		return math.MaxInt64
	}
	return l.order.min().due
}

// next returns when the earliest task is due that is known, or may be left for a read.
func (l *lane) next() task.Millis {
	if l.behind {
		return min(l.earliest(), l.cursor.Due)
	}
	return l.earliest()
}

// before and place keep l in the line of those that want to be read.
func (l *lane) before(other *lane) bool {
	return l.readSince < other.readSince || l.readSince == other.readSince && l.asked < other.asked
}

func (l *lane) place() *int { return &l.readPlace }

// left reports whether p lies in the part that was left for a later read.
func (l *lane) left(p task.Position) bool { return l.behind && l.cursor.Less(p) }

// shed keeps the earliest, at least one, and leaves the rest to be read again, with all
// that was left before. It returns how many were let go.
func (l *lane) shed(keep int) int {
	gone := l.cut(keep)
	unread := l.cursor == task.Position{} && !l.behind // hints opened it: what they told is nearly all there is
	if last := l.order.items[keep-1].position(); unread || last.Less(l.cursor) {
		l.cursor = last
	}
	l.behind = true
	return gone
}

// clear lets go of everything and leaves it to be read again from the start. It
// returns how many were let go.
func (l *lane) clear() int {
	gone := l.order.len()
	l.known, l.order = map[string]*item{}, heap[*item]{}
	l.cursor, l.behind, l.scan = task.Position{}, true, false
	return gone
}

// trim lets go of what lies after p, and returns how many that were.
func (l *lane) trim(p task.Position) int {
	keep := 0
	for _, it := range l.order.items {
		if !p.Less(it.position()) {
			keep++
		}
	}
	return l.cut(keep)
}

// cut keeps the earliest and returns how many it let go.
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
	l.order = heap[*item]{items: kept} // what is sorted is a heap
	l.known = make(map[string]*item, keep)
	for i, it := range kept {
		it.at = i
		l.known[it.name] = it
	}
	return gone
}
