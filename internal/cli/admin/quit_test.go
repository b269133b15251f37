package admin

import (
	"strings"
	"testing"
)

func TestQEndsTop(t *testing.T) {
	for keys, want := range map[string]bool{"xq": true, "Q": true, "\x03": true, "\x04": true, "x\x1b[A": false, "": false} {
		ended := false
		awaitQuit(strings.NewReader(keys), func() { ended = true })
		if ended != want {
			t.Errorf("%q: ended %v", keys, ended)
		}
	}
}
