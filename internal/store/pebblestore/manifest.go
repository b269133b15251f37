package pebblestore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// errBadBackup means that a backup is damaged, or is not a backup.
var errBadBackup = errors.New("the backup is damaged or incomplete")

const (
	// backupManifest is the name of a backup's last entry.
	backupManifest = "BACKUP.json"
	maxManifest    = 64 << 20
)

// Manifest describes the contents of a backup. It is the backup's last entry, a
// line of JSON and the line's SHA-256, so a truncated backup has none.
type Manifest struct {
	Format    int       `json:"format"` // the format of the directory
	CreatedAt time.Time `json:"created_at"`
	Contents
	Files []backupFile `json:"files"` // in the order of the backup
}

// Contents is the contents of a directory, independent of its layout on the disk.
type Contents struct {
	Change    uint64       `json:"change"` // the number of the newest change
	Tasks     int64        `json:"tasks"`
	Schedules int64        `json:"schedules"`
	Entries   int64        `json:"entries"`  // number of all keys
	Checksum  string       `json:"checksum"` // SHA-256 over all keys and values in the order of the keys
	Queues    []QueueCount `json:"queues"`   // the queues of tasks
}

// QueueCount is the counts of one queue.
type QueueCount struct {
	Namespace string           `json:"namespace"`
	Queue     string           `json:"queue"`
	States    map[string]int64 `json:"states"`
	Bytes     int64            `json:"bytes"` // the bytes of records
}

// backupFile is one file of a backup.
type backupFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// queueCounts returns counts ordered by namespace and queue.
func queueCounts(all kernel.Tally) []QueueCount {
	list := make([]QueueCount, 0, len(all))
	for _, key := range slices.SortedFunc(maps.Keys(all), task.QueueKey.Compare) {
		if !key.OfOccurrences() && key.Queue != task.ScheduleQueue {
			list = append(list, queueCount(key, all[key]))
		}
	}
	return list
}

func queueCount(key task.QueueKey, n task.Counts) QueueCount {
	q := QueueCount{Namespace: key.Namespace, Queue: key.Queue, States: map[string]int64{}, Bytes: n.Bytes}
	for state := task.Scheduled; state <= task.Dead; state++ {
		if n.States[state] != 0 {
			q.States[state.String()] = n.States[state]
		}
	}
	return q
}

func (m *Manifest) encode() ([]byte, error) {
	line, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(line)
	return fmt.Appendf(nil, "%s\n%x\n", line, sum), nil
}

// parseManifest is the inverse of encode. Errors: errBadBackup, codec.ErrOtherFormat.
func parseManifest(data []byte) (*Manifest, error) {
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	if sum := sha256.Sum256(line); string(rest) != hex.EncodeToString(sum[:])+"\n" {
		return nil, fmt.Errorf("%w: its manifest does not match its checksum", errBadBackup)
	}
	m := new(Manifest)
	if err := json.Unmarshal(line, m); err != nil {
		return nil, fmt.Errorf("%w: its manifest: %w", errBadBackup, err)
	}
	if m.Format != codec.Format {
		return nil, codec.OtherFormat("the backup", strconv.Itoa(m.Format))
	}
	return m, nil
}

// backupName matches the names of files in a backup, all in one directory, so a
// name with a path is invalid.
var backupName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// checkName refuses files that must not be written into a data directory.
// Errors: errBadBackup.
func checkName(name string) error {
	if !backupName.MatchString(name) || name == lockFile || name == watermarkFile || name == backupManifest {
		return fmt.Errorf("%w: it holds a file named %q", errBadBackup, name)
	}
	return nil
}
