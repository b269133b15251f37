package tasks

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
)

func TestDuePrintsNoRowThatIsNotExact(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)
	due := &client.Due{Time: at, ExactUntil: at.Add(2 * time.Hour), Later: 9, Rings: []client.DueRing{{Slot: time.Hour, From: at, Counts: []int64{1, 2, 0, 0}}}}
	var out, notes bytes.Buffer
	if err := printDue(console.New(nil, &out, &notes, false), due); err != nil {
		t.Fatal(err)
	}
	if rows := strings.Split(out.String(), "\n"); len(rows) != 5 || !strings.HasSuffix(rows[2], "\t2\t0") || rows[3] != "later\t9\t" || !strings.Contains(notes.String(), "05:00") {
		t.Errorf("%q\n%s", rows, notes.String())
	}
}
