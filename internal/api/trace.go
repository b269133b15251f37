package api

import (
	"net/http"
	"strings"
)

// trace returns the span in which r creates a task, "" if there is none, and
// ignores an invalid header, as W3C Trace Context requires.
func (s *Server) trace(r *http.Request) string {
	if s.cfg.Trace != nil {
		if t := traceparent(s.cfg.Trace(r.Context())); t != "" {
			return t
		}
	}
	if values := r.Header["Traceparent"]; len(values) == 1 {
		return traceparent(values[0])
	}
	return ""
}

// traceparent returns a valid traceparent in the form of version 00, and "" for
// an invalid one, and cuts a later version to the fields of version 00.
func traceparent(s string) string {
	const (
		form    = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
		version = len("00")
		traceID = len("00-0123456789abcdef0123456789abcdef")
		spanID  = len("00-0123456789abcdef0123456789abcdef-0123456789abcdef")
	)
	if len(s) < len(form) {
		return ""
	}
	head, rest := s[:len(form)], s[len(form):]
	for i := range len(head) {
		if c := head[i]; form[i] == '-' && c != '-' || form[i] != '-' && !lowerHex(c) {
			return ""
		}
	}
	switch first := head[:version]; {
	case first == "ff", first == "00" && rest != "", rest != "" && rest[0] != '-':
		return ""
	}
	if strings.Trim(head[version+1:traceID], "0") == "" || strings.Trim(head[traceID+1:spanID], "0") == "" {
		return ""
	}
	return "00" + head[version:]
}

func lowerHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }
