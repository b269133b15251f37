package journal

import (
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

type testLine struct{ Name string }

func TestAJournalKeepsEveryLineThatWasAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	j, err := Open(path)
	fatal.If(t, err)
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 25 {
				if err := j.Append(testLine{Name: strconv.Itoa(w*25 + i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	// Before close: the appended line is already in the file.
	lines, err := Read[testLine](path)
	fatal.If(t, err)
	seen := map[string]bool{}
	for _, l := range lines {
		seen[l.Name] = true
	}
	if len(lines) != 200 || len(seen) != 200 {
		t.Errorf("the journal has %d lines with %d names, want 200 of both", len(lines), len(seen))
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if err := j.Append(testLine{}); err == nil {
		t.Error("append to a closed journal succeeded")
	}
}
