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

func TestListenPrintsWhenItEnds(t *testing.T) {
	for _, c := range []struct {
		command Listen
		want    string
	}{
		{Listen{}, "press Ctrl-C to stop"},
		{Listen{Count: 2}, "ends after 2 callbacks"},
		{Listen{Try: time.Second}, "ends after the callback of its task"},
		{Listen{Try: time.Second, Count: 2}, "ends after the callback of its task"},
	} {
		if got := c.command.ending(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
