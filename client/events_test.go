package client

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestEventsOfTheServerAreRead(t *testing.T) {
	const limit = 100
	long := strings.Repeat("a", limit-len("data: "))
	for _, c := range []struct {
		stream string
		want   []string
		end    error
	}{
		{"data: a\n\ndata: b\r\n\r\n", []string{"message=a", "message=b"}, io.EOF},
		{"data:a\ndata:  b\n\n", []string{"message=a\n b"}, io.EOF},
		{"event: problem\ndata: {}\n\ndata: {}\n\n", []string{"problem={}", "message={}"}, io.EOF},
		{": comment\nid: 1\nretry: 5\ndata: a: b\n:\n\n", []string{"message=a: b"}, io.EOF},
		{"data: whole\n\ndata: cut off\n", []string{"message=whole"}, io.EOF},
		{"", nil, io.EOF},
		{"data: " + long + "\n\n", []string{"message=" + long}, io.EOF},
		{"data: a\n\ndata: " + long + "aa\n\ndata: b\n\n", []string{"message=a"}, errLongEvent},
		{strings.Repeat("data: a\n", limit), nil, errLongEvent},
		{strings.Repeat(": ping\n\n", limit) + "data: a\n\n", []string{"message=a"}, io.EOF},
	} {
		e := newEventReader(iotest.OneByteReader(strings.NewReader(c.stream)), limit)
		var got []string
		name, data, err := e.next()
		for ; err == nil; name, data, err = e.next() {
			got = append(got, name+"="+string(data))
		}
		if !errors.Is(err, c.end) || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v, want %q", c.stream, got, err, c.want)
		}
	}
}
