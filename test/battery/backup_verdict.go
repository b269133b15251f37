package main

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// backupReport is what a backup says of itself, and what foliot restore prints
// after it has counted again.
type backupReport struct {
	Tasks    int    `json:"tasks"`
	Checksum string `json:"checksum"`
}

// readManifest returns what a backup says of itself, in its last entry.
func readManifest(path string) (r backupReport, err error) {
	f, err := os.Open(path)
	if err != nil {
		return r, fmt.Errorf("read a backup: %w", err)
	}
	defer f.Close()
	archive := tar.NewReader(f)
	for {
		entry, err := archive.Next()
		if err != nil {
			return r, fmt.Errorf("find the manifest in a backup: %w", err)
		}
		if entry.Name == "BACKUP.json" {
			err := json.NewDecoder(archive).Decode(&r)
			return r, err
		}
	}
}

// backupEvidence is all that the verdict on a backup may look at.
type backupEvidence struct {
	Began, Ended time.Time // of the command that took it
	Asked        []asked
	Restored     []wire.TaskInput // exported by a server that was started on it
	Taken, Given backupReport     // by backup and by restore
}

// backupVerdict is what the evidence says.
type backupVerdict struct {
	Before, During, Since int // accepted, by when that was
	DuringRestored        int

	Missing []string // accepted before it began, not restored
	Changed []string // restored as something else
	Later   []string // asked for after it had ended, and restored
	Unknown []string // restored, never asked for
}

// checkBackup judges. It is a pure function. Of the restored tasks it looks at
// those that a keeper creates: others come and go meanwhile.
func checkBackup(e backupEvidence) (v backupVerdict) {
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
	slices.Sort(v.Unknown) // maps have no order, reports should
	return v
}
