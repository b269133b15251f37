package directory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/verify"
)

// reportDisk prints the table and the promises.
func reportDisk(v *verify.DiskVerdict, t *harness.Run) {
	t.Note("runs %d, the server ended %d times by itself, %d of them at a start on the full disk", v.Runs, v.Ended, v.Restarts)
	t.Note("accepted %d, arrived %d, duplicates %d", v.Accepted, v.Arrived, v.Duplicates)
	for _, group := range slices.Sorted(maps.Keys(v.Fates)) {
		var fates []string
		for _, fate := range slices.Sorted(maps.Keys(v.Fates[group])) {
			fates = append(fates, fmt.Sprintf("%s %d", fate, v.Fates[group][fate]))
		}
		t.Note("%-26s %s", group+":", strings.Join(fates, ", "))
	}
	t.Must(v.Ended > 0, "the server met a full disk %d times", v.Ended)
	t.Must(len(v.Lost) == 0, "lost %d%s", len(v.Lost), verify.Examples(v.Lost))
	t.Must(len(v.Early) == 0, "early %d%s", len(v.Early), verify.Examples(v.Early))
	t.Must(len(v.AfterCancel) == 0, "delivered after a cancel's 200: %d%s", len(v.AfterCancel), verify.Examples(v.AfterCancel))
	t.Must(len(v.OtherID) == 0, "duplicates under another webhook-id %d%s", len(v.OtherID), verify.Examples(v.OtherID))
	t.Must(len(v.Wrong) == 0, "tasks with a state that contradicts the replies: %d", len(v.Wrong))
	for _, w := range v.Wrong[:min(5, len(v.Wrong))] {
		t.Note("%s", w)
	}
}
