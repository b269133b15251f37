package system

import (
	"fmt"
	"testing"
	"time"
)

func TestProcessorTimeIsReadBehindAnyName(t *testing.T) {
	for _, name := range []string{"foliot", "a) b (c", "x y z"} {
		line := fmt.Sprintf("77 (%s) S 1 77 77 0 -1 4194560 1 0 0 0 150 25 0 0 20 0 9 0 1\n", name)
		if got, err := parseCPU([]byte(line)); err != nil || got != 1750*time.Millisecond {
			t.Errorf("of %q: %v, %v", name, got, err)
		}
	}
	for _, line := range []string{"", "77 (foliot", "77 (foliot) S 1 2 3", "77 (foliot) S 1 77 77 0 -1 4194560 1 0 0 0 x 25 0"} {
		if _, err := parseCPU([]byte(line)); err == nil {
			t.Errorf("a processor time was read from %q", line)
		}
	}
}

func TestWritesAreReadFromTheirLine(t *testing.T) {
	const lines = "wchar: 5\nread_bytes: 6\nwrite_bytes: 4096\ncancelled_write_bytes: 7\n"
	if got, err := parseWritten([]byte(lines)); err != nil || got != 4096 {
		t.Errorf("got %d, %v", got, err)
	}
	if _, err := parseWritten([]byte("cancelled_write_bytes: 7\n")); err == nil {
		t.Error("a text without write_bytes was read")
	}
}
