package pebblestore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// A map of all records is the model. The cache may forget a record. It must not have
// an old one, nor one of a task that is not due soon.
func TestTheRecordCacheHasTheNewestRecordOrNone(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := newRecordCache()
	type newest struct{ value, body []byte }
	model := map[task.Key]newest{}
	found := 0
	for i := range 100_000 {
		key := task.Key{Namespace: "default", Name: fmt.Sprint("task-", random.IntN(20_000))}
		if i%3 > 0 {
			value, body, ok := s.find(key)
			want, known := model[key]
			switch {
			case !ok:
				continue
			case !known || !bytes.Equal(value, want.value) || !bytes.Equal(body, want.body):
				t.Fatalf("%s: found %d and %d bytes, want %d and %d (known: %v)", key.Name, len(value), len(body), len(want.value), len(want.body), known)
			}
			found++
			continue
		}
		made := &task.Task{Namespace: key.Namespace, Name: key.Name, State: task.Scheduled, Due: task.Millis(random.IntN(cachedAhead)), Version: uint64(i)}
		made.Request.Body = bytes.Repeat([]byte{byte(i)}, random.IntN(4000))
		made.Request.BodySize = len(made.Request.Body)
		delete(model, key)
		whole := true
		switch random.IntN(10) {
		case 0:
			made.State = task.Delivered
		case 1:
			made.Due += cachedAhead + 1
		case 2:
			whole = false
		case 3:
			made.Request.Body = make([]byte, largestCached)
			made.Request.BodySize = largestCached
		default:
			model[key] = newest{codec.AppendRecord(nil, made), made.Request.Body}
		}
		s.note(0, made, codec.AppendRecord(nil, made), made.Request.Body, whole)
	}
	if found < 1000 || len(s.chunks) != cacheChunks {
		t.Errorf("%d records were found, %d chunks are in use: the test shows too little", found, len(s.chunks))
	}
	entries := 0
	for _, chunk := range s.chunks {
		for offset := 0; offset < len(chunk); {
			key, value, body := splitEntry(chunk[offset:])
			offset += entryHead + len(key) + len(value) + len(body)
			entries++
		}
	}
	if len(s.at) > entries {
		t.Errorf("%d places for %d entries", len(s.at), entries)
	}
}
