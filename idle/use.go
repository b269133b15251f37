package idle

import "sync/atomic"

// use tells what is under way on a connection that no touch shows. In its low bits it counts the Writes and transfers of a wrapper; in
// units of busyUnit, what makes the connection busy: a request over HTTP. Both are changed by those who run them, without a lock.
//
// noticeWanted says that the group waits for the end of what makes it busy. The group sets it, under its lock, by a compare-and-swap that
// fails if nothing is busy any more; who ends the last thing sees it in the same word. So either the group finds the connection no
// longer busy, or it is told.
type use struct{ word atomic.Uint32 }

const (
	runningMask  = 1<<24 - 1 // package net allows 2^20 at a time
	busyUnit     = 1 << 24
	busyMask     = noticeWanted - busyUnit
	noticeWanted = 1 << 31
)

func (u *use) reset() { u.word.Store(0) }

// begin and end count Writes and transfers.
func (u *use) begin() { u.word.Add(1) }
func (u *use) end()   { u.word.Add(^uint32(0)) }

func (u *use) isRunning() bool { return u.word.Load()&runningMask != 0 }
func (u *use) isBusy() bool    { return u.word.Load()&busyMask != 0 }

// beginBusy and endBusy count what makes the connection busy. endBusy tells whether that was the last, and the group is to be told.
func (u *use) beginBusy() { u.word.Add(busyUnit) }

func (u *use) endBusy() (tell bool) {
	now := u.word.Add(^uint32(busyUnit - 1))
	return now&busyMask == 0 && now&noticeWanted != 0
}

// owe asks for the end of what makes the connection busy to be told. It returns false if nothing does.
func (u *use) requestNotice() bool {
	for {
		now := u.word.Load()
		if now&busyMask == 0 {
			return false
		}
		if u.word.CompareAndSwap(now, now|noticeWanted) {
			return true
		}
	}
}

// paid takes that back.
func (u *use) clearNotice() { u.word.And(^uint32(noticeWanted)) }
