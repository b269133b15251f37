package client

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

const eventStreamType = "text/event-stream"

// maxEvent bounds the bytes of one event.
const maxEvent = maxReply

var errLongEvent = errors.New("an event is longer than 64 MiB")

// eventReader reads server-sent events as the server writes them.
type eventReader struct {
	lines *bufio.Scanner
	limit int // of the bytes of an event
}

func newEventReader(r io.Reader, limit int) *eventReader {
	e := &eventReader{bufio.NewScanner(r), limit}
	e.lines.Buffer(nil, limit+len("\n"))
	return e
}

// next returns the next event that has data, named "message" if it has no name.
// At the end of the stream next returns io.EOF, and drops an event that is
// incomplete.
func (e *eventReader) next() (name string, data []byte, err error) {
	name = "message"
	for e.lines.Scan() {
		line := e.lines.Text()
		if line == "" && data != nil {
			return name, data, nil
		}
		switch field, value, _ := strings.Cut(line, ":"); field { // a comment has no name before the colon
		case "event":
			name = strings.TrimPrefix(value, " ")
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			if data = append(data, strings.TrimPrefix(value, " ")...); len(data) > e.limit {
				return "", nil, errLongEvent
			}
		}
	}
	switch err := e.lines.Err(); {
	case err == nil:
		return "", nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return "", nil, errLongEvent
	default:
		return "", nil, err
	}
}
