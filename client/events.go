package client

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"strings"
)

const eventStreamType = "text/event-stream"

// maxEvent bounds the bytes of one event.
const maxEvent = maxReply

var errLongEvent = errors.New("an event is longer than 64 MiB")

// eventReader reads server-sent events, as the HTML standard defines them in
// section 9.2. It ignores ids and reconnection times.
type eventReader struct {
	in    *bufio.Reader
	limit int  // of the bytes of an event
	begun bool // the first line was read
	cr    bool // the last line ended with CR, so that a LF after it ends no line
}

func newEventReader(r io.Reader, limit int) *eventReader {
	return &eventReader{in: bufio.NewReader(r), limit: limit}
}

// next returns the next event that has data. An event without a name is a
// "message". At the end of the stream next returns io.EOF, and drops an event
// that is incomplete.
func (e *eventReader) next() (name string, data []byte, err error) {
	const unnamed = "message"
	name, left, hasData := unnamed, e.limit, false
	for {
		line, err := e.line(left)
		if err != nil {
			return "", nil, err
		}
		left -= len(line) + 1
		if line == "" {
			if hasData {
				return name, data, nil
			}
			name, left = unnamed, e.limit
			continue
		}
		field, value, _ := strings.Cut(line, ":") // a comment has no name before the colon
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = cmp.Or(value, unnamed)
		case "data":
			if hasData {
				data = append(data, '\n')
			}
			data, hasData = append(data, value...), true
		}
	}
}

// line returns the next line, of at most limit bytes, without its end: CRLF, LF
// or CR.
func (e *eventReader) line(limit int) (string, error) {
	var line []byte
	for {
		c, err := e.in.ReadByte()
		switch {
		case err != nil:
			return "", err
		case c == '\n' && e.cr:
			e.cr = false
			continue
		case c == '\n' || c == '\r':
			e.cr = c == '\r'
			return e.withoutMark(string(line)), nil
		case len(line) >= limit:
			return "", errLongEvent
		}
		e.cr = false
		line = append(line, c)
	}
}

// withoutMark removes a byte order mark from the first line.
func (e *eventReader) withoutMark(line string) string {
	if e.begun {
		return line
	}
	e.begun = true
	return strings.TrimPrefix(line, "\ufeff")
}
