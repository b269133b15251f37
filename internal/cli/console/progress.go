package console

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/foliot/foliot/internal/bytesize"
	"github.com/foliot/foliot/internal/cli/wording"
)

// Progress shows how far long work has come: a bar on a terminal, and a line
// from time to time elsewhere. It may be used by many goroutines.
type Progress struct {
	con   *Console
	verb  string // "imported", "copied"
	every time.Duration

	mu      sync.Mutex               // guards everything below
	bar     *progressbar.ProgressBar // nil if the output is not a terminal
	tasks   int
	bytes   int64
	began   time.Time
	printed time.Time // when the last line was printed
}

// NewProgress begins work of a size, or -1 if the size is unknown. Without a
// terminal it prints a line every 5 s.
func NewProgress(con *Console, verb string, size int64) *Progress {
	p := &Progress{con: con, verb: verb, every: 5 * time.Second, began: time.Now(), printed: time.Now()}
	if con.errTerm {
		p.bar = progressbar.NewOptions64(size,
			progressbar.OptionSetWriter(con.Err),
			progressbar.OptionSetDescription(verb),
			progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSpinnerType(14),
		)
	}
	return p
}

// EverySecond makes p print a line each second.
func (p *Progress) EverySecond() *Progress {
	p.every = time.Second
	return p
}

// Add records that tasks more tasks and bytes more bytes of the file are done.
func (p *Progress) Add(tasks int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks, p.bytes = p.tasks+tasks, p.bytes+bytes
	p.showLocked(fmt.Sprintf("%s %d tasks, %s", p.verb, p.tasks, wording.PerSecond(p.tasks, time.Since(p.began))))
}

// Write records that len(b) more bytes are done.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.atLocked(p.bytes + int64(len(b)))
	return len(b), nil
}

// At records that bytes are done in total.
func (p *Progress) At(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.atLocked(bytes)
}

func (p *Progress) atLocked(bytes int64) {
	p.bytes = bytes
	p.showLocked(p.verb + " " + bytesize.Text(bytes))
}

// Show records that done of the size is done, and shows a line of the caller.
func (p *Progress) Show(line string, done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes = int64(done)
	p.showLocked(line)
}

func (p *Progress) showLocked(line string) {
	if p.bar != nil {
		p.bar.Describe(p.con.beside(line))
		_ = p.bar.Set64(p.bytes) // an error of the bar must not stop the work
		return
	}
	if now := time.Now(); now.Sub(p.printed) >= p.every {
		p.printed = now
		p.con.Notef("%s", line)
	}
}

// Notef prints a line above the bar.
func (p *Progress) Notef(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	p.con.Notef(format, args...)
}

// beside cuts a line so that a short bar with its figures fits beside it. A bar
// that wraps cannot be redrawn.
func (c *Console) beside(line string) string {
	if f, ok := c.Err.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && len(line) > max(0, columns-40) {
			return strings.ToValidUTF8(line[:max(0, columns-40)], "") + "…"
		}
	}
	return line
}

// Done removes the bar, so that the next output begins on a line of its own.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
