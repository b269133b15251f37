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

// Journal is an append-only log of JSON lines on disk. Append returns when the
// line is synced; lines that arrive while a sync runs share the next one.
//
// The syncer is its only goroutine: Open starts it, Close stops it and waits.
type Journal struct {
	file *os.File
	done chan struct{}

	mu      sync.Mutex // guards everything below
	waiting chan struct{}
	pending []byte
	batch   *syncBatch // that the pending lines belong to
	closed  bool
}

// syncBatch is some lines that are synced together; done is closed after err is set.
type syncBatch struct {
	done chan struct{}
	err  error
}

// Open opens the journal at path and appends to it.
func Open(path string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	j := &Journal{file: f, done: make(chan struct{}), waiting: make(chan struct{}, 1), batch: newSyncBatch()}
	go j.sync()
	return j, nil
}

func newSyncBatch() *syncBatch { return &syncBatch{done: make(chan struct{})} }

// Append writes v as a line and returns when it is on the disk.
func (j *Journal) Append(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a journal's line: %w", err)
	}
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return errors.New("the journal is closed")
	}
	j.pending = append(append(j.pending, data...), '\n')
	batch := j.batch
	j.mu.Unlock()
	select {
	case j.waiting <- struct{}{}:
	default: // the syncer knows
	}
	<-batch.done
	return batch.err
}

func (j *Journal) sync() {
	defer close(j.done)
	for range j.waiting {
		j.mu.Lock()
		lines, batch := j.pending, j.batch
		j.pending, j.batch = nil, newSyncBatch()
		j.mu.Unlock()
		batch.err = j.write(lines)
		close(batch.done)
	}
}

func (j *Journal) write(lines []byte) error {
	if _, err := j.file.Write(lines); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync the journal: %w", err)
	}
	return nil
}

// Close ends the journal after the lines that wait. It may be called twice.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.mu.Unlock()
	select {
	case j.waiting <- struct{}{}:
	default:
	}
	close(j.waiting)
	<-j.done
	return j.file.Close()
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
