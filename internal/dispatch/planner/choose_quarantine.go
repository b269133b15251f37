package planner

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// quarantineTime is how long the first attempt of a task keeps the quarantine
// slot while other tasks wait for the slot. Each time an attempt of the task is
// interrupted, its next turn is twice as long.
const quarantineTime = time.Minute

// quarantineSlot admits one attempt of the lanes in quarantine at a time, in
// the whole node. If the process crashes again, the crash is attributed to the
// one quarantined task that was running. A task that does not kill the process
// is settled and leaves the quarantine.
//
// Queues take turns in quarantine, and so do the lanes of each queue. The next
// lane starts before all lanes outside quarantine, and any free slot of its
// class is enough. So quarantine costs the other lanes at most one slot, and
// routine work never delays quarantine. The alternative was to give quarantine
// a turn among the priorities. But each routine turn moves a queue back, so a
// queue with only lanes in quarantine would always be first when the slot
// becomes free.
//
// All limits apply: a pause, the rate, concurrency, breakers. A lane or queue
// that they stop is not in the trees of this slot. Release frees the slot, and
// Refresh then checks which tasks can start, so a free slot needs no wake-up
// that could be lost.
//
// An attempt that takes longer than quarantineTime is interrupted as soon as
// another task in quarantine could start instead. It is settled as interrupted,
// which uses no attempt, and its task stays in quarantine, behind the other
// tasks. The next turn of the task is twice as long, and so on, until an
// attempt ends by itself. The price is that a slow receiver is called again at
// each turn. Two alternatives were worse. If the attempt kept running during
// the next one, a late crash would be attributed to both tasks. If its timeout
// were shorter, it would use up attempts, and a task that is only slow would
// fail.
type quarantineSlot struct {
	queues waitTree[*queue] // queues with a lane that can start
	taken  bool             // an attempt is under way
	key    task.Key         // the task of the attempt; valid if taken
	wakeup Wakeup           // set for the end of the attempt's time while taken
	until  time.Duration    // the end of its time; zero means that no attempt is under way, or that it was interrupted

	interrupts map[task.Key]int // how often a task's attempt was interrupted; kept while tasks wait
}

// first returns the lane that can start now, or nil if there is none.
func (s *quarantineSlot) first(left *cost) *lane {
	if s.taken {
		return nil
	}
	n := s.queues.first(left)
	if n == nil {
		return nil
	}
	return n.owner.bands[task.Quarantine].lanes.first(left).owner
}

// put inserts q, moves it to its new place, or removes it.
func (s *quarantineSlot) put(q *queue, canStart bool) {
	need := neverFits
	if canStart {
		need = *q.bands[task.Quarantine].lanes.minCost()
	}
	s.queues.put(&q.quarantineNode, rank{lastPick: q.lastQuarantinePick, number: q.number}, need)
}

// begin records that the attempt that holds the slot starts.
func (s *quarantineSlot) begin(k task.Key, monotonic time.Duration) {
	s.key, s.until = k, monotonic+quarantineTime<<min(s.interrupts[k], 16)
}

// mustInterrupt returns true once when the time of the attempt that holds the
// slot is over and another task could start instead.
func (s *quarantineSlot) mustInterrupt(monotonic time.Duration) bool {
	if s.until == 0 || monotonic < s.until || s.queues.size == 0 {
		return false
	}
	s.until = 0
	if s.interrupts == nil {
		s.interrupts = map[task.Key]int{}
	}
	s.interrupts[s.key]++
	return true
}

// end records the end of the attempt that held the slot.
func (s *quarantineSlot) end() {
	if s.until != 0 { // it ended by itself
		delete(s.interrupts, s.key)
	}
	if s.queues.size == 0 {
		clear(s.interrupts) // entries of tasks that were cancelled in the meantime
	}
	s.taken, s.until = false, 0
}
