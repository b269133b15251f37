package directory

import (
	"io"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/verify"
)

func TestABackupOfOtherCountsOrChecksumsFails(t *testing.T) {
	start := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	whole := verify.BackupEvidence{
		Began: at(100), Ended: at(200),
		Asked:    []verify.SeededTask{{Name: "keep-1", URL: "http://127.0.0.1:1/", Due: at(1_000_000), Sent: at(10), At: at(20)}, {Name: "keep-2", Sent: at(300), At: at(301)}},
		Restored: []wire.TaskInput{harness.Task("keep-1", "http://127.0.0.1:1/", at(1_000_000))},
		Taken:    verify.BackupReport{Tasks: 1, Checksum: "abc"}, Given: verify.BackupReport{Tasks: 1, Checksum: "abc"},
	}
	for name, c := range map[string]struct {
		change func(*verify.BackupEvidence)
		fails  bool
	}{
		"equal":           {func(*verify.BackupEvidence) {}, false},
		"another count":   {func(e *verify.BackupEvidence) { e.Given.Tasks = 2 }, true},
		"another sum":     {func(e *verify.BackupEvidence) { e.Given.Checksum = "abd" }, true},
		"no sum at all":   {func(e *verify.BackupEvidence) { e.Taken.Checksum, e.Given.Checksum = "", "" }, true},
		"nothing counted": {func(e *verify.BackupEvidence) { e.Taken.Tasks, e.Given.Tasks = 0, 0 }, true},
		"it ended there":  {func(e *verify.BackupEvidence) { e.Asked = e.Asked[:1] }, true},
		"begun too soon":  {func(e *verify.BackupEvidence) { e.Began = at(15) }, true},
		"one is missing":  {func(e *verify.BackupEvidence) { e.Restored = nil }, true},
	} {
		e := whole
		c.change(&e)
		tr := &harness.Run{Out: io.Discard}
		mustBeBackup(tr, e)
		if tr.Failed != c.fails {
			t.Errorf("%s: failed is %v", name, tr.Failed)
		}
	}
}
