package transfer

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

// An export may escape a body in this way.
func TestALineHoldsTheLargestBodyHoweverItIsEscaped(t *testing.T) {
	text := `{"delay":"1h","http":{"url":"http://127.0.0.1:9/","body":"` + strings.Repeat(`\u0001`, task.MaxBody) + `"}}`
	if got, err := newLineReader(strings.NewReader(text)).next(); err != nil || got.err != nil || string(got.text) != text {
		t.Errorf("%d bytes of %d, %v, %v", len(got.text), len(text), got.err, err)
	}
}

func TestLinesOfAnyLengthAreRead(t *testing.T) {
	long := strings.Repeat("x", maxLine+1)
	text := "first\n\n  \r\nfourth\r\n" + long + "\nsixth\n" + strings.Repeat("y", maxLine-1) + "\nlast"
	lines := newLineReader(strings.NewReader(text))
	var got []string
	var size int64
	for {
		l, err := lines.next()
		size += l.size
		if errors.Is(err, io.EOF) {
			break
		}
		fatal.If(t, err)
		got = append(got, fmt.Sprintf("%d %.6s %d %v", l.number, l.text, len(l.text), l.err != nil))
	}
	want := []string{"1 first 5 false", "4 fourth 6 false", "5  0 true", "6 sixth 5 false", fmt.Sprintf("7 yyyyyy %d false", maxLine-1), "8 last 4 false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if size != int64(len(text)) {
		t.Errorf("the lines have %d bytes together, the text has %d", size, len(text))
	}
}
