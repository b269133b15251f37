package console

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/foliot/foliot/internal/bytesize"
	"github.com/foliot/foliot/internal/cli/wording"
)

// Progress shows how far long work has come: a line that a terminal redraws, and
// a new line from time to time elsewhere. It may be used by many goroutines.
type Progress struct {
	con     *Console
	verb    string // "imported", "copied"
	size    int64  // -1: unknown
	redraws bool
	every   time.Duration

	mu      sync.Mutex // guards everything below
	tasks   int
	bytes   int64
	began   time.Time
	printed time.Time // when the last line was printed
}

// NewProgress begins work of a size, or -1 if the size is unknown. Without a
// terminal it prints a line every 5 s.
func NewProgress(con *Console, verb string, size int64) *Progress {
	p := &Progress{con: con, verb: verb, size: size, redraws: con.errTerm && os.Getenv("TERM") != "dumb", every: 5 * time.Second, began: time.Now(), printed: time.Now()}
	if p.redraws {
		p.every = 100 * time.Millisecond
	}
	return p
}

// Begin begins another part of the work, and counts from 0.
func (p *Progress) Begin(verb string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.verb, p.tasks, p.bytes, p.began, p.printed = verb, 0, 0, time.Now(), time.Now()
}

// Add records that n more tasks are done.
func (p *Progress) Add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks += n
	p.showLocked(p.lineLocked())
}

// Write records that len(b) more bytes are done.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += int64(len(b))
	p.showLocked(p.lineLocked())
	return len(b), nil
}

// lineLocked returns the number of tasks, or that of the bytes if no tasks are
// counted.
func (p *Progress) lineLocked() string {
	if p.tasks > 0 {
		return fmt.Sprintf("%s %d tasks, %s", p.verb, p.tasks, wording.PerSecond(p.tasks, time.Since(p.began)))
	}
	return p.verb + " " + bytesize.Text(p.bytes)
}

// Show records that done of the size is done, and shows a line of the caller.
func (p *Progress) Show(line string, done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes = int64(done)
	p.showLocked(line)
}

// clearLine is the escape sequence that clears a line of a terminal.
const clearLine = "\r\x1b[2K"

func (p *Progress) showLocked(line string) {
	now := time.Now()
	if now.Sub(p.printed) < p.every {
		return
	}
	p.printed = now
	if !p.redraws {
		p.con.Notef("%s", line)
		return
	}
	if p.size > 0 {
		line = fmt.Sprintf("%d%%  %s", 100*p.bytes/p.size, line)
	}
	fmt.Fprint(p.con.Err, clearLine, p.con.cut(line))
}

// Notef prints a line above the progress.
func (p *Progress) Notef(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
	p.con.Notef(format, args...)
}

// cut cuts a line to the width of the terminal. A line that wraps cannot be
// redrawn.
func (c *Console) cut(line string) string {
	if f, ok := c.Err.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return wording.ShortenTo(line, max(0, columns-5))
		}
	}
	return line
}

// Done removes the line, so that the next output begins on a line of its own.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
}

func (p *Progress) clearLocked() {
	if p.redraws {
		fmt.Fprint(p.con.Err, clearLine)
	}
}
