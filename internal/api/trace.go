package api

import (
	"net/http"
	"regexp"
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

// traceparents matches a traceparent of any version. Later versions may have more
// fields than version 00.
var traceparents = regexp.MustCompile(`^([0-9a-f]{2})(-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2})(?s:(-.*)?)$`)

// traceparent returns a valid traceparent in the form of version 00, and "" for
// an invalid one, and cuts a later version to the fields of version 00.
func traceparent(s string) string {
	m := traceparents.FindStringSubmatch(s)
	switch {
	case m == nil, m[1] == "ff", m[1] == "00" && m[5] != "", strings.Trim(m[3], "0") == "", strings.Trim(m[4], "0") == "":
		return ""
	}
	return "00" + m[2]
}
