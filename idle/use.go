package idle

import "sync/atomic"

// use counts the activity on a connection that touches do not show. Its low
// bits count the Writes and transfers of a wrapper, and units of busyUnit the
// HTTP requests, which make the connection busy. The goroutines of that
// activity change both without a lock.
//
// noticeWanted means that the group waits for the last request to end. The
// group sets it under its lock, by a compare-and-swap that fails if no request
// is under way, and the goroutine that ends the last request sees it in the
// same word. So either the group finds the connection no longer busy, or it
// gets a notice.
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

// beginBusy and endBusy count requests. endBusy reports whether that was the
// last one and the group wants a notice.
func (u *use) beginBusy() { u.word.Add(busyUnit) }

func (u *use) endBusy() (notify bool) {
	now := u.word.Add(^uint32(busyUnit - 1))
	return now&busyMask == 0 && now&noticeWanted != 0
}

// requestNotice asks for a notice of the end of the last request, and returns
// false if none is under way.
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

// clearNotice undoes requestNotice.
func (u *use) clearNotice() { u.word.And(^uint32(noticeWanted)) }
