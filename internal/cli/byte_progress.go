package cli

import (
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/foliot/foliot/internal/cli/wording"
)

// byteProgress shows how far a copy has come. Only one goroutine may use it.
type byteProgress struct {
	con     *console
	verb    string
	bar     *progressbar.ProgressBar // nil if the output is not a terminal
	bytes   int64
	printed time.Time // when the last line was printed
}

// newByteProgress begins a copy of size bytes, or -1 if the size is unknown.
func newByteProgress(con *console, verb string, size int64) *byteProgress {
	p := &byteProgress{con: con, verb: verb, printed: time.Now()}
	if con.errTerm {
		p.bar = progressbar.NewOptions64(size,
			progressbar.OptionSetWriter(con.err),
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
	p.at(p.bytes + int64(len(b)))
	return len(b), nil
}

// at records that bytes are copied in total.
func (p *byteProgress) at(bytes int64) {
	p.bytes = bytes
	if p.bar != nil {
		_ = p.bar.Set64(bytes) // an error of the bar must not stop the work
		return
	}
	if now := time.Now(); now.Sub(p.printed) >= plainEvery {
		p.printed = now
		p.con.notef("%s %s", p.verb, wording.Megabytes(bytes))
	}
}

// done removes the bar, so that the next output begins on a line of its own.
func (p *byteProgress) done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
