package console

import (
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/foliot/foliot/internal/bytesize"
)

// byteProgress shows the progress of a copy. Only one goroutine must use it.
type byteProgress struct {
	con     *Console
	verb    string
	bar     *progressbar.ProgressBar // nil if the output is not a terminal
	bytes   int64
	printed time.Time // when the last line was printed
}

// NewByteProgress begins a copy of size bytes, or -1 if the size is unknown.
func NewByteProgress(con *Console, verb string, size int64) *byteProgress {
	p := &byteProgress{con: con, verb: verb, printed: time.Now()}
	if con.errTerm {
		p.bar = progressbar.NewOptions64(size,
			progressbar.OptionSetWriter(con.Err),
			progressbar.OptionSetDescription(verb),
			progressbar.OptionShowBytes(true),
			progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
	}
	return p
}

// Write records that len(b) more bytes are copied.
func (p *byteProgress) Write(b []byte) (int, error) {
	p.At(p.bytes + int64(len(b)))
	return len(b), nil
}

// At records that bytes are copied in total.
func (p *byteProgress) At(bytes int64) {
	p.bytes = bytes
	if p.bar != nil {
		_ = p.bar.Set64(bytes) // an error of the bar must not stop the work
		return
	}
	if now := time.Now(); now.Sub(p.printed) >= plainEvery {
		p.printed = now
		p.con.Notef("%s %s", p.verb, bytesize.Text(bytes))
	}
}

// Done removes the bar, so that the next output begins on a line of its own.
func (p *byteProgress) Done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
