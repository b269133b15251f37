package api

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/wire"
)

// liveSample is the activity of the server at one moment.
type liveSample struct {
	at    time.Time
	live  wire.Live // the data of all namespaces
	views sync.Map  // maps a view to its JSON, a []byte
}

// view is the part of a sample that a caller sees.
type view struct {
	namespace string // empty means all
	operator  bool
}

func (s *Server) live(w http.ResponseWriter, r *request) error {
	if s.cfg.Engine == nil {
		return unsupported("this server has no live data")
	}
	v := view{r.oneOrAll(), r.operator}
	if r.Method != http.MethodHead && accepts(r.Request, eventStreamType) {
		return s.streamLive(w, r, v)
	}
	sample, err := s.sampleLive(r)
	if err != nil {
		return err
	}
	body, err := s.render(r, sample, v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", jsonType)
	s.writeLive(w, body)
	return nil
}

// writeLive writes the JSON of a view with the time of the reply: a client that
// compares clocks needs that time, and the sample is older.
func (s *Server) writeLive(w io.Writer, body []byte) {
	_, _ = fmt.Fprintf(w, `{"now":%q,`, showTime(s.now()))
	_, _ = w.Write(body[len("{"):]) // no reply is possible if the client is gone
}

// sampleLive returns the present sample, the same for all viewers, so that the
// cost of samples does not grow with the number of viewers.
func (s *Server) sampleLive(r *request) (*liveSample, error) {
	return s.samples.take(r.Context(), struct{}{}, 0, func() (*liveSample, error) {
		return &liveSample{at: time.Now(), live: s.cfg.Engine.Live()}, nil
	})
}

// render returns the JSON of a view of a sample, and encodes each view once;
// the encoding of a large view waits for a turn.
func (s *Server) render(r *request, from *liveSample, v view) (body []byte, err error) {
	if body, ok := from.views.Load(v); ok {
		return body.([]byte), nil
	}
	work := func() error {
		if made, ok := from.views.Load(v); ok { // another request made it during the wait
			body = made.([]byte)
			return nil
		}
		body, err = encode(v.of(from.live, r.settings))
		from.views.Store(v, body)
		return err
	}
	const few = 100
	if len(from.live.Queues)+len(from.live.Destinations) < few {
		err = work()
	} else {
		err = s.gate.Turn(r.Context(), work)
	}
	return body, err
}

// of returns the part of l that v sees.
func (v view) of(l wire.Live, current *settings.Settings) wire.Live {
	if !v.operator {
		l.Running, l.Slots, l.Late, l.Waited, l.Attempts = 0, 0, nil, nil, nil
	}
	for _, n := range current.List(settings.NamespaceKind, "") {
		if n := n.(*settings.NamespaceSettings); n.Suspended && (v.namespace == "" || v.namespace == n.Name) {
			l.Suspended = append(l.Suspended, n.Name)
		}
	}
	if v.namespace != "" {
		l.Queues = only(l.Queues, func(q *wire.LiveQueue) bool { return q.Namespace == v.namespace })
		l.Destinations = only(l.Destinations, func(d *wire.LiveDestination) bool { return d.Namespace == v.namespace })
	}
	return l
}

// only returns the items for which keep is true, and copies only these, because
// all can be a very large slice.
func only[T any](all []T, keep func(*T) bool) []T {
	some := []T{}
	for i := range all {
		if keep(&all[i]) {
			some = append(some, all[i])
		}
	}
	return some
}
