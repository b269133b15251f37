package verify

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// restoredTask is a task of a backup.
func restoredTask(name, url string, due time.Time) wire.TaskInput {
	return wire.TaskInput{Name: name, At: wire.FormatTime(due), HTTP: wire.HTTPInput{URL: url}}
}

func TestTheVerdictOnABackupCatchesWhatItIsFor(t *testing.T) {
	const url = "http://127.0.0.1:1/"
	ask := func(name string, sent, accepted float64) SeededTask {
		a := SeededTask{Name: name, URL: url, Due: at(1e6), Sent: at(sent)}
		if accepted > 0 {
			a.At = at(accepted)
		}
		return a
	}
	restored := func(name string, due float64) wire.TaskInput { return restoredTask(name, url, at(due)) }
	type counts struct{ missing, changed, later, unknown int }
	for name, c := range map[string]struct {
		seededTask SeededTask
		restored   []wire.TaskInput
		want       counts
	}{
		"accepted before, and there":           {ask("keep-1", 10, 20), []wire.TaskInput{restored("keep-1", 1e6)}, counts{}},
		"accepted before, and missing":         {ask("keep-1", 10, 20), nil, counts{missing: 1}},
		"accepted before, and due then":        {ask("keep-1", 10, 20), []wire.TaskInput{restored("keep-1", 999_999)}, counts{changed: 1}},
		"accepted before, for another URL":     {ask("keep-1", 10, 20), []wire.TaskInput{restoredTask("keep-1", url+"x", at(1e6))}, counts{changed: 1}},
		"accepted meanwhile, and there":        {ask("keep-1", 110, 120), []wire.TaskInput{restored("keep-1", 1e6)}, counts{}},
		"accepted meanwhile, and missing":      {ask("keep-1", 110, 120), nil, counts{}},
		"asked for before, accepted meanwhile": {ask("keep-1", 90, 120), nil, counts{}},
		"asked for afterwards, and there":      {ask("keep-1", 210, 220), []wire.TaskInput{restored("keep-1", 1e6)}, counts{later: 1}},
		"never answered, and missing":          {ask("keep-1", 10, 0), nil, counts{}},
		"never asked for":                      {ask("keep-1", 110, 120), []wire.TaskInput{restored("keep-2", 1e6)}, counts{unknown: 1}},
		"a bystander":                          {ask("keep-1", 110, 120), []wire.TaskInput{restored("bystander-2", 1e6)}, counts{}},
	} {
		v := CheckBackup(BackupEvidence{Began: at(100), Ended: at(200), Asked: []SeededTask{c.seededTask}, Restored: c.restored})
		if got := (counts{len(v.Missing), len(v.Changed), len(v.Later), len(v.Unknown)}); got != c.want {
			t.Errorf("%s: the verdict is %+v, want %+v", name, got, c.want)
		}
	}
}
