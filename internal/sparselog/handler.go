package sparselog

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// In each time of length Every, a line is written once, and at most Most lines
// of one kind.
const (
	Most  = 10
	Every = 10 * time.Second
)

// Lines are of one kind if they have the same message and the same values of
// these attributes, so one namespace or one lasting failure does not hide the
// others.
var kindOf = []string{"namespace", "code", "why", "reason"}

// maxKinds bounds the kinds that are remembered, and beyond it, all lines with
// one message are of one kind.
const maxKinds = 1000

// LeftOut is the attribute with the number of lines that were left out since
// the last line of the same kind.
const LeftOut = "not_logged_before"

// New returns a logger that writes to l sparsely, without counting lines of
// level debug. Messages must be constants, because each is remembered, and
// attributes of With make no kind.
func New(l *slog.Logger) *slog.Logger {
	if _, sparse := l.Handler().(handler); sparse {
		return l
	}
	return slog.New(handler{l.Handler(), &counts{kinds: map[string]*window{}}})
}

type handler struct {
	slog.Handler
	counts *counts
}

// counts has the lines of each kind.
type counts struct {
	mu    sync.Mutex // guards kinds
	kinds map[string]*window
}

type window struct {
	began   time.Time
	written []string // the attributes of the lines
	leftOut int
}

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
	var attrs, kind strings.Builder
	kind.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		attrs.WriteString(a.String())
		if slices.Contains(kindOf, a.Key) {
			kind.WriteString("\x00" + a.String())
		}
		return true
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.windowLocked(r, kind.String())
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

// windowLocked returns the window of a kind, and must be called with mu held.
func (c *counts) windowLocked(r slog.Record, kind string) *window {
	if w := c.kinds[kind]; w != nil {
		return w
	}
	if len(c.kinds) >= maxKinds {
		maps.DeleteFunc(c.kinds, func(_ string, w *window) bool { return w.leftOut == 0 && r.Time.Sub(w.began) >= Every })
	}
	if len(c.kinds) >= maxKinds {
		kind = r.Message
	}
	w := c.kinds[kind]
	if w == nil {
		w = &window{}
		c.kinds[kind] = w
	}
	return w
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.counts}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.counts}
}
