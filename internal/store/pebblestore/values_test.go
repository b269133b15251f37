package pebblestore

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

func TestTheEntriesOfABlockAreNumberedUpToItsKey(t *testing.T) {
	b := block{last: 7}
	want := []settings.AuditEntry{{Seq: 8, Target: "a"}, {Seq: 9, Target: "b"}}
	for i := range want {
		b.add(&want[i])
	}
	got, err := parseBlock(appendAuditKey(nil, b.last), b.value)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
	if _, err := parseBlock(appendAuditKey(nil, 1), b.value); !errors.Is(err, errDamaged) {
		t.Errorf("two entries up to the first one: %v", err)
	}
}

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
	var b block
	b.add(&settings.AuditEntry{At: 1, Action: "task.create", Target: "t", ID: "t", Version: 1})
	b.add(&settings.AuditEntry{At: 1, Action: "task.create", Target: "u", ID: "i", Version: 2})
	f.Add(appendAuditKey(nil, 2), b.value)
	f.Add([]byte(donePrefix+"12345678ns\x00name"), endedEntry{state: task.Dead, size: 7, queue: "q", digest: "d"}.append(nil))
	f.Add([]byte(countPrefix+"ns\x00q"), appendCounts(nil, task.Counts{Bytes: 3}))
	q := &settings.QueueSettings{Namespace: "ns", Name: "q", Rate: 1}
	data, err := settings.EncodeSetting(q)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(appendSettingKey(nil, q.Key()), append([]byte{codec.Format}, data...))
	f.Add([]byte(duePrefix+"ns\x00q\x00\x01host:1\x0012345678name"), []byte{})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if entries, err := parseBlock(key, value); err == nil && len(entries) > 0 {
			again := block{last: entries[0].Seq - 1}
			for i := range entries {
				again.add(&entries[i])
			}
			if back, err := parseBlock(key, again.value); err != nil || !cmp.Equal(entries, back) {
				t.Errorf("%+v comes back as %+v, %v", entries, back, err)
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
