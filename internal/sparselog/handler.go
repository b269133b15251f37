package sparselog

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// In each time of length Every, a line is written once, and at most Most lines
// with the same message.
const (
	Most  = 10
	Every = 10 * time.Second
)

// LeftOut is the attribute with the number of lines that were left out since
// the last line with the same message.
const LeftOut = "not_logged_before"

// New returns a logger that writes to l sparsely. Lines of level debug are not
// counted. Messages must be constants, because each is remembered.
func New(l *slog.Logger) *slog.Logger {
	if _, sparse := l.Handler().(handler); sparse {
		return l
	}
	return slog.New(handler{l.Handler(), &counts{messages: map[string]*window{}}})
}

type handler struct {
	slog.Handler
	counts *counts
}

// counts has the lines of each message.
type counts struct {
	mu       sync.Mutex // guards messages
	messages map[string]*window
}

type window struct {
	began   time.Time
	written []string // the attributes of the lines
	leftOut int
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelInfo {
		return h.Handler.Handle(ctx, r)
	}
	leftOut, write := h.counts.add(r)
	if !write {
		return nil
	}
	if leftOut > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int(LeftOut, leftOut))
	}
	return h.Handler.Handle(ctx, r)
}

func (c *counts) add(r slog.Record) (leftOut int, write bool) {
	var attrs strings.Builder
	r.Attrs(func(a slog.Attr) bool { attrs.WriteString(a.String()); return true })
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.messages[r.Message]
	if w == nil {
		w = &window{}
		c.messages[r.Message] = w
	}
	if r.Time.Sub(w.began) >= Every {
		w.began, w.written = r.Time, nil
	}
	if len(w.written) == Most || slices.Contains(w.written, attrs.String()) {
		w.leftOut++
		return 0, false
	}
	w.written = append(w.written, attrs.String())
	leftOut, w.leftOut = w.leftOut, 0
	return leftOut, true
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.counts}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.counts}
}
