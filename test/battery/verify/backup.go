package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// BackupReport is the manifest of a backup. foliot restore counts the records
// again, and prints the same report.
type BackupReport struct {
	Tasks    int    `json:"tasks"`
	Checksum string `json:"checksum"`
}

// BackupEvidence is everything that the verdict on a backup can use.
type BackupEvidence struct {
	Began, Ended time.Time // of the command that took it
	Asked        []SeededTask
	Restored     []wire.TaskInput // exported by a server that was started on it
	Taken, Given BackupReport     // by backup and by restore
}

// BackupVerdict is the result of CheckBackup.
type BackupVerdict struct {
	Before, During, Since int // tasks accepted before the backup, during it and after it
	DuringRestored        int

	Missing []string // accepted before the backup began, and not restored
	Changed []string // restored with other contents
	Later   []string // requested after the backup had ended, and restored
	Unknown []string // restored, and never requested
}

// CheckBackup judges a backup. It is a pure function. It checks only the tasks of a
// seeder, because other tasks come and go during the backup.
func CheckBackup(e BackupEvidence) (v BackupVerdict) {
	restored := map[string]wire.TaskInput{}
	for _, r := range e.Restored {
		restored[r.Name] = r
	}
	known := map[string]bool{}
	for _, a := range e.Asked {
		known[a.Name] = true
		r, there := restored[a.Name]
		if there && (r.HTTP.URL != a.URL || r.At != wire.FormatTime(a.Due)) {
			v.Changed = append(v.Changed, fmt.Sprintf("%s due %s", a.Name, r.At))
		}
		if there && a.Sent.After(e.Ended) {
			v.Later = append(v.Later, a.Name)
		}
		switch {
		case a.At.IsZero(): // it may have been accepted or not
		case a.At.Before(e.Began):
			v.Before++
			if !there {
				v.Missing = append(v.Missing, a.Name)
			}
		case a.At.After(e.Ended):
			v.Since++
		default:
			v.During++
			if there {
				v.DuringRestored++
			}
		}
	}
	for name := range restored {
		kept := strings.HasPrefix(name, "keep-") || strings.HasPrefix(name, "bulk-")
		if kept && !known[name] {
			v.Unknown = append(v.Unknown, name)
		}
	}
	slices.Sort(v.Unknown) // a map has no order, and the report needs one
	return v
}

// SeededTask is a line of the log of a seeder: a task that was requested, and
// perhaps accepted.
type SeededTask struct {
	Name string    `json:"name"`
	URL  string    `json:"url"`
	Due  time.Time `json:"due"`
	Sent time.Time `json:"sent"`
	At   time.Time `json:"at"` // when it was accepted; zero means that no 2xx came
}
