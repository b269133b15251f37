package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestEachRequestIsSentAtItsTimeUnlessCancelled(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), "", &out); err != nil {
		t.Fatal(err)
	}
	var got []string // without the times
	for line := range strings.Lines(out.String()) {
		got = append(got, line[strings.Index(line, "PATCH"):])
	}
	const want = `PATCH order-4 "a time in the past is now"
PATCH order-1 "close the order"
PATCH order-3 "the later request replaces the first"
`
	if strings.Join(got, "") != want {
		t.Errorf("it printed:\n%s", &out)
	}
}
