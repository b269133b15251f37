package main

import (
	"io"
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
	ask := func(name string, sent, accepted float64) asked {
		a := asked{Name: name, URL: url, Due: at(1e6), Sent: at(sent)}
		if accepted > 0 {
			a.At = at(accepted)
		}
		return a
	}
	restored := func(name string, due float64) wire.TaskInput { return restoredTask(name, url, at(due)) }
	type counts struct{ missing, changed, later, unknown int }
	for name, c := range map[string]struct {
		asked    asked
		restored []wire.TaskInput
		want     counts
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
		v := checkBackup(backupEvidence{Began: at(100), Ended: at(200), Asked: []asked{c.asked}, Restored: c.restored})
		if got := (counts{len(v.Missing), len(v.Changed), len(v.Later), len(v.Unknown)}); got != c.want {
			t.Errorf("%s: the verdict is %+v, want %+v", name, got, c.want)
		}
	}
}

func TestABackupOfOtherCountsOrChecksumsFails(t *testing.T) {
	start := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	whole := backupEvidence{
		Began: at(100), Ended: at(200),
		Asked:    []asked{{Name: "keep-1", URL: "http://127.0.0.1:1/", Due: at(1_000_000), Sent: at(10), At: at(20)}, {Name: "keep-2", Sent: at(300), At: at(301)}},
		Restored: []wire.TaskInput{input("keep-1", "http://127.0.0.1:1/", at(1_000_000))},
		Taken:    backupReport{Tasks: 1, Checksum: "abc"}, Given: backupReport{Tasks: 1, Checksum: "abc"},
	}
	for name, c := range map[string]struct {
		change func(*backupEvidence)
		fails  bool
	}{
		"equal":           {func(*backupEvidence) {}, false},
		"another count":   {func(e *backupEvidence) { e.Given.Tasks = 2 }, true},
		"another sum":     {func(e *backupEvidence) { e.Given.Checksum = "abd" }, true},
		"no sum at all":   {func(e *backupEvidence) { e.Taken.Checksum, e.Given.Checksum = "", "" }, true},
		"nothing counted": {func(e *backupEvidence) { e.Taken.Tasks, e.Given.Tasks = 0, 0 }, true},
		"it ended there":  {func(e *backupEvidence) { e.Asked = e.Asked[:1] }, true},
		"begun too soon":  {func(e *backupEvidence) { e.Began = at(15) }, true},
		"one is missing":  {func(e *backupEvidence) { e.Restored = nil }, true},
	} {
		e := whole
		c.change(&e)
		tr := &trial{out: io.Discard}
		tr.mustBeBackup(e)
		if tr.failed != c.fails {
			t.Errorf("%s: failed is %v", name, tr.failed)
		}
	}
}
