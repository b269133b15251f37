package pebblestore

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

func TestCountsAndEndedEntriesAreDecodedAsEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := task.Counts{Bytes: rapid.Int64().Draw(t, "bytes")}
		for s := task.Scheduled; s <= task.Dead; s++ {
			want.States[s] = rapid.Int64().Draw(t, "count")
		}
		if got, err := parseCounts(appendCounts(nil, want)); err != nil || got != want {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
		k := endedEntry{
			end:   task.Millis(rapid.Int64().Draw(t, "end")),
			state: rapid.SampledFrom([]task.State{task.Delivered, task.Cancelled, task.Expired, task.Dead}).Draw(t, "state"),
			size:  rapid.Int64Range(0, task.MaxBody).Draw(t, "size"), queue: rapid.String().Draw(t, "queue"), digest: rapid.String().Draw(t, "digest"),
		}
		if got, err := parseEndedEntry(k.append(nil)); err != nil || got != k {
			t.Fatalf("%v, %v, want %v", got, err, k)
		}
	})
}

// FuzzValues: every value in the database is read or refused, never a panic.
func FuzzValues(f *testing.F) {
	entryOf := func(e *settings.AuditEntry) []byte {
		return codec.EncodeAuditEntry(e)
	}
	f.Add(appendAuditKey(nil, 2), entryOf(&settings.AuditEntry{At: 1, Action: "task.cancel", Target: "t", ID: "t", Version: 1}))
	f.Add([]byte(donePrefix+"ns\x0012345678name"), []byte{})
	f.Add([]byte(keepPrefix+"12345678ns\x00name"), endedEntry{state: task.Dead, size: 7, queue: "q", digest: "d"}.append(nil))
	f.Add([]byte(countPrefix+"ns\x00q"), appendCounts(nil, task.Counts{Bytes: 3}))
	q := &settings.QueueSettings{Namespace: "ns", Name: "q", Rate: 1}
	data, err := settings.EncodeSetting(q)
	fatal.If(f, err)
	f.Add(appendSettingKey(nil, q.Key()), append([]byte{codec.Format}, data...))
	f.Add([]byte(duePrefix+"ns\x00q\x00\x01host:1\x0012345678name"), []byte{})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if e, err := parseAuditEntry(key, value); err == nil {
			if back, err := parseAuditEntry(key, entryOf(&e)); err != nil || back != e {
				t.Errorf("%+v comes back as %+v, %v", e, back, err)
			}
		}
		if k, err := parseEndedEntry(value); err == nil {
			if back, err := parseEndedEntry(k.append(nil)); err != nil || back != k {
				t.Errorf("%+v comes back as %+v, %v", k, back, err)
			}
		}
		if n, err := parseCounts(value); err == nil {
			if back, err := parseCounts(appendCounts(nil, n)); err != nil || back != n {
				t.Errorf("%+v comes back as %+v, %v", n, back, err)
			}
		}
		if r, err := parseSetting(key, value); err == nil && !bytes.Equal(key, appendSettingKey(nil, r.Key())) {
			t.Errorf("%q is the key of %+v", key, r.Key())
		}
		if owner, ok := ownerOf(key, value); !ok && owner.Namespace != "" && owner.Name != "" {
			t.Errorf("%q: %+v", key, owner)
		}
	})
}

func TestKeysOfTheDueIndexSortByLaneThenTimeThenName(t *testing.T) {
	a := task.Lane{Namespace: "n", Queue: "q", Priority: task.Normal, Destination: "h:80"}
	b := a
	b.Priority = task.Low
	ordered := [][]byte{
		appendDueKey(nil, a, task.Position{Due: -5, Name: "z"}),
		appendDueKey(nil, a, task.Position{Due: 0, Name: "a"}),
		appendDueKey(nil, a, task.Position{Due: 1 << 40, Name: "a"}),
		appendDueKey(nil, a, task.Position{Due: 1 << 40, Name: "b"}),
		prefixEnd(appendLane(nil, a)),
		appendDueKey(nil, b, task.Position{Due: -5}),
	}
	if !slices.IsSortedFunc(ordered, bytes.Compare) {
		t.Errorf("not in order: %q", ordered)
	}
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[a-z0-9.:-]{0,12}`)
		lane := task.Lane{
			Namespace: part.Draw(t, "namespace"), Queue: part.Draw(t, "queue"),
			Priority: task.Priority(rapid.IntRange(0, 2).Draw(t, "priority")), Destination: part.Draw(t, "destination"),
		}
		at := task.Position{Due: task.Millis(rapid.Int64().Draw(t, "due")), Name: part.Draw(t, "name")}
		gotLane, gotAt, n, err := parseDueKey(appendDueKey(nil, lane, at))
		if err != nil || gotLane != lane || gotAt != at || n != len(appendLane(nil, lane)) {
			t.Fatalf("%v %v %d %v", gotLane, gotAt, n, err)
		}
	})
}
