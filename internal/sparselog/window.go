package sparselog

import "time"

// Window counts the lines of one kind. The zero value is ready. It is not safe
// for concurrent use.
type Window struct {
	began   time.Time // time of the first line in the window
	written int       // lines written in the window
	leftOut int       // lines not written since the last one that was
}

// Add counts a line at now and reports whether to write it: it is one of the
// first most lines in a window of length every. A new window begins with the
// first line after the old one has ended. If the line may be written, leftOut
// is the number of lines left out since the one written before it.
func (w *Window) Add(now time.Time, most int, every time.Duration) (leftOut int, write bool) {
	if now.Sub(w.began) >= every {
		w.began, w.written = now, 0
	}
	if w.written >= most {
		w.leftOut++
		return 0, false
	}
	w.written++
	leftOut, w.leftOut = w.leftOut, 0
	return leftOut, true
}
