package client

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// readEvents returns the events of a stream, and the error at its end.
func readEvents(stream string, limit int) (events []string, err error) {
	e := newEventReader(iotest.OneByteReader(strings.NewReader(stream)), limit)
	for {
		name, data, err := e.next()
		if err != nil {
			return events, err
		}
		events = append(events, name+"="+string(data))
	}
}

func TestEventsAreReadAsTheStandardDefinesThem(t *testing.T) {
	for _, c := range []struct {
		stream string
		want   []string
	}{
		{"data: a\n\n", []string{"message=a"}},
		{"data: a\r\n\r\ndata: b\r\rdata: c\n\n", []string{"message=a", "message=b", "message=c"}},
		{"data: a\r\ndata: b\r\n\r\n\r\n", []string{"message=a\nb"}},
		{"data:a\ndata:  b\ndata\n\n", []string{"message=a\n b\n"}},
		{"data:\n\n", []string{"message="}},
		{"event: problem\ndata: {}\n\ndata: {}\n\n", []string{"problem={}", "message={}"}},
		{"event: lost\n\ndata: a\n\n", []string{"message=a"}},
		{"event\ndata: a\n\n", []string{"message=a"}},
		{": comment\ndata: a\n:\n\n: another\n\n", []string{"message=a"}},
		{"id: 1\nretry: 5\nDATA: x\n data: y\ndatum: z\ndata: a\n\n", []string{"message=a"}},
		{"\ufeffdata: a\n\n\ufeffdata: b\n\n", []string{"message=a"}},
		{"data: a: b\n\n", []string{"message=a: b"}},
		{"data: whole\n\ndata: cut off\n", []string{"message=whole"}},
		{"data: whole\n\ndata: cut off", []string{"message=whole"}},
		{"", nil},
	} {
		if got, err := readEvents(c.stream, maxEvent); !errors.Is(err, io.EOF) || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v, want %q", c.stream, got, err, c.want)
		}
	}
}

func TestALongEventIsRefused(t *testing.T) {
	const limit = 100
	data := func(n int) string { return "data: " + strings.Repeat("a", n-len("data: ")) }
	for _, c := range []struct {
		what, stream string
		events       int
		end          error
	}{
		{"a line of the limit", data(limit) + "\n\n", 1, io.EOF},
		{"a longer line", data(limit + 1), 0, errLongEvent},
		{"a long comment", ":" + strings.Repeat("a", limit), 0, errLongEvent},
		{"lines of the limit", strings.Repeat("data: a\n", 12) + "\n", 1, io.EOF},
		{"many lines", strings.Repeat("data: a\n", 13), 0, errLongEvent},
		{"many lines without data", strings.Repeat("data\n", limit/5+1), 0, errLongEvent},
		{"many comments, each on its own", strings.Repeat(": ping\n\n", limit) + "data: a\n\n", 1, io.EOF},
		{"a long event after a short one", "data: a\n\n" + data(2*limit) + "\n\ndata: b\n\n", 1, errLongEvent},
	} {
		if got, err := readEvents(c.stream, limit); len(got) != c.events || !errors.Is(err, c.end) {
			t.Errorf("%s: %d events, %v", c.what, len(got), err)
		}
	}
}

// FuzzEvents compares the reader with one that has the whole stream.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"data: a\r\n\r\n", "event: x\rdata:b\r\rdata", "\ufeff:c\ndata\n\n", "data\n\n\n\r\n\rdata:  x\n\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		got, err := readEvents(stream, len(stream)+bufio.MaxScanTokenSize)
		if want := eventsOf(stream); !errors.Is(err, io.EOF) || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", stream, got, err, want)
		}
	})
}

// eventsOf returns the events of a whole stream.
func eventsOf(stream string) (events []string) {
	stream = strings.TrimPrefix(stream, "\ufeff")
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream), "\n")
	name, data := "", []string(nil)
	for _, line := range lines[:len(lines)-1] { // the last one has no end
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				if name == "" {
					name = "message"
				}
				events = append(events, name+"="+strings.Join(data, "\n"))
			}
			name, data = "", nil
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value)
		}
	}
	return events
}
