package api

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// eventStreamType is the media type of server-sent events (HTML Living
// Standard, section 9.2).
const eventStreamType = "text/event-stream"

func accepts(r *http.Request, media string) bool {
	for _, value := range r.Header["Accept"] {
		for part := range strings.SplitSeq(value, ",") {
			if name, _, _ := strings.Cut(part, ";"); strings.EqualFold(strings.TrimSpace(name), media) {
				return true
			}
		}
	}
	return false
}

// sampleWait is the time until a viewer looks again for a sample that another
// request takes.
const sampleWait = 50 * time.Millisecond

// streamLive sends each sample as an event, until the client leaves, the server
// stops or the caller is no longer authorized. In the last case the last event
// is the problem.
func (s *Server) streamLive(w http.ResponseWriter, r *request, v view) error {
	leave, ok := s.gate.Poll(r.out.namespace)
	if !ok {
		return refuse("unavailable", "", "too many requests of this namespace wait or watch: retry later")
	}
	defer leave()
	r.out.endless()
	var last *liveSample
	for begun := false; ; begun = true {
		sample, err := s.sampleLive(r)
		if err == nil {
			err = s.revalidate(&r.caller)
		}
		if err == nil && sample != last {
			r.settings = s.store.Standing().Settings // a namespace may have been suspended
			err = s.sendLive(w, r, sample, v, begun)
		}
		switch {
		case r.Context().Err() != nil:
			return nil // no reply is possible
		case err != nil && begun:
			s.sendEvent(w, r, "problem", problemOf(err))
			return nil
		case err != nil:
			return err
		}
		last = sample
		if !s.rest(r, max(time.Until(sample.at.Add(sampleFor)), sampleWait)) {
			return nil
		}
	}
}

func (s *Server) sendLive(w http.ResponseWriter, r *request, sample *liveSample, v view, begun bool) error {
	body, err := s.render(r, sample, v)
	if err != nil {
		return err
	}
	if !begun {
		w.Header().Set("Content-Type", eventStreamType)
		w.Header().Set("X-Accel-Buffering", "no") // a proxy must pass on each event at once
	}
	buf := s.buffer()
	defer s.release(buf)
	buf.WriteString("data: ")
	s.writeLive(buf, body)
	buf.WriteByte('\n') // the body ends with another
	s.flushEvent(w, r, buf)
	return nil
}

func (s *Server) sendEvent(w http.ResponseWriter, r *request, name string, value any) {
	buf := s.buffer()
	defer s.release(buf)
	fmt.Fprintf(buf, "event: %s\ndata: ", name)
	if wire.Encode(buf, value) == nil {
		buf.WriteString("\n\n")
		s.flushEvent(w, r, buf)
	}
}

func (s *Server) flushEvent(w http.ResponseWriter, r *request, buf *bytes.Buffer) {
	_, _ = w.Write(buf.Bytes()) // the context ends if the client is gone
	_ = r.out.control.Flush()
}

// rest waits, while the request has no units, and reports false if the server
// or the request ends before.
func (s *Server) rest(r *request, d time.Duration) bool {
	r.out.Leave()
	select {
	case <-time.After(d):
		_ = r.out.Return(r.Context()) // all viewers share a sample, so a stream goes on without units
		return r.Context().Err() == nil
	case <-s.stop:
	case <-r.Context().Done():
	}
	return false
}
