package console

import (
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/foliot/foliot/internal/cli/wording"
)

// plainEvery is the interval at which progress prints a line if it cannot redraw
// a bar.
const plainEvery = 5 * time.Second

// Progress shows how far long work has come: a bar on a terminal, and a line
// every plainEvery elsewhere. It may be used by many goroutines.
type Progress struct {
	con  *Console
	verb string // "imported", "exported"

	mu      sync.Mutex // guards everything below
	bar     *progressbar.ProgressBar
	tasks   int
	began   time.Time
	printed time.Time // when the last line was printed
}

// NewProgress begins work on size bytes, or -1 if the size is unknown.
func NewProgress(con *Console, verb string, size int64) *Progress {
	p := &Progress{con: con, verb: verb, began: time.Now(), printed: time.Now()}
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

// Add records that tasks more tasks and bytes more bytes of the file are done.
func (p *Progress) Add(tasks int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks += tasks
	if p.bar != nil {
		p.bar.Describe(p.lineLocked())
		_ = p.bar.Add64(bytes) // an error of the bar must not stop the work
		return
	}
	if now := time.Now(); now.Sub(p.printed) >= plainEvery {
		p.printed = now
		p.con.Notef("%s", p.lineLocked())
	}
}

// Done removes the bar, so that the next output begins on a line of its own.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

func (p *Progress) lineLocked() string {
	return fmt.Sprintf("%s %d tasks, %s", p.verb, p.tasks, wording.PerSecond(p.tasks, time.Since(p.began)))
}
