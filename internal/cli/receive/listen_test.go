package receive

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/console"
)

// Another callback must not end a trial with success.
func TestATrialEndsOnlyWithItsOwnCallback(t *testing.T) {
	stopped := 0
	con := console.New(strings.NewReader(""), io.Discard, io.Discard, false)
	rc := &receiver{cmd: &Listen{Count: 1}, con: con, awaited: "own", stop: func() { stopped++ }}
	for range 2 {
		if !rc.show(callback{Task: "other"}) || stopped != 0 || rc.arrived() {
			t.Fatal("the callback of another task ended the trial, or was refused")
		}
	}
	if !rc.show(callback{Task: "own"}) || stopped != 1 || !rc.arrived() {
		t.Error("its own callback did not end the trial")
	}
}

func TestListenSaysWhenItEnds(t *testing.T) {
	for want, c := range map[string]Listen{
		"press Ctrl-C to stop":                {},
		"ends after 2 callbacks":              {Count: 2},
		"ends after the callback of its task": {Try: time.Second},
	} {
		if got := c.ending(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
