// Package journal keeps append-only logs of JSON lines on disk.
package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Journal is an append-only log of JSON lines on disk. Many goroutines may use
// it. It is not synced, because no scenario stops the machine: a line outlives
// the process that wrote it.
type Journal struct {
	mu   sync.Mutex // guards file
	file *os.File
}

// Open opens the journal at path and appends to it.
func Open(path string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	return &Journal{file: f}, nil
}

// Append writes v as a line.
func (j *Journal) Append(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a journal's line: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// Close closes the journal. Then Append fails. It may be called twice.
func (j *Journal) Close() error {
	if err := j.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Read returns a journal's lines. The battery judges the data on the disk, not the
// data in memory.
func Read[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a journal: %w", err)
	}
	defer f.Close()
	var lines []T
	for dec := json.NewDecoder(bufio.NewReader(f)); ; {
		var v T
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return lines, nil
		} else if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		lines = append(lines, v)
	}
}
