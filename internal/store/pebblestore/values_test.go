package pebblestore

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/task"
)

// drawEntry draws an audit entry; few values, so that entries repeat each other.
func drawEntry(t *rapid.T) task.AuditEntry {
	few := rapid.SampledFrom([]string{"", "a", "b"})
	return task.AuditEntry{
		At: task.Millis(rapid.IntRange(-1, 2).Draw(t, "at")), By: few.Draw(t, "by"), Addr: few.Draw(t, "addr"),
		Namespace: few.Draw(t, "namespace"), Action: few.Draw(t, "action"), Target: few.Draw(t, "target"),
		ID: few.Draw(t, "id"), Version: rapid.Uint64Range(0, 2).Draw(t, "version"), Detail: few.Draw(t, "detail"),
	}
}

func TestABlockOfTheAuditLogComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(drawEntry), 1, 20).Draw(t, "entries")
		b := block{last: rapid.Uint64Range(0, 1000).Draw(t, "last")}
		for i := range want {
			want[i].Seq = b.last + 1
			b.add(&want[i])
		}
		got, err := parseBlock(appendAuditKey(nil, b.last), b.value)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Fatal(err, d)
		}
	})
}

func TestCountsAndWhatIsKeptComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := task.Counts{Bytes: rapid.Int64().Draw(t, "bytes")}
		for s := task.Scheduled; s <= task.Dead; s++ {
			want.States[s] = rapid.Int64().Draw(t, "count")
		}
		if got, err := parseCounts(appendCounts(nil, want)); err != nil || got != want {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
		k := kept{
			state: rapid.SampledFrom([]task.State{task.Delivered, task.Cancelled, task.Expired, task.Dead}).Draw(t, "state"),
			size:  rapid.IntRange(0, task.MaxBody).Draw(t, "size"), queue: rapid.String().Draw(t, "queue"), digest: rapid.String().Draw(t, "digest"),
		}
		if got, err := parseKept(k.append(nil)); err != nil || got != k {
			t.Fatalf("%v, %v, want %v", got, err, k)
		}
	})
}

// FuzzValues: whatever is in the database is read or refused, never a panic.
func FuzzValues(f *testing.F) {
	var b block
	b.add(&task.AuditEntry{At: 1, Action: "task.create", Target: "t", ID: "t", Version: 1})
	b.add(&task.AuditEntry{At: 1, Action: "task.create", Target: "u", ID: "i", Version: 2})
	f.Add(appendAuditKey(nil, 2), b.value)
	f.Add([]byte(donePrefix+"12345678ns\x00name"), kept{state: task.Dead, size: 7, queue: "q", digest: "d"}.append(nil))
	f.Add([]byte(countPrefix+"ns\x00q"), appendCounts(nil, task.Counts{Bytes: 3}))
	q := &task.QueueSettings{Namespace: "ns", Name: "q", Rate: 1}
	data, err := task.EncodeSetting(q)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(appendSettingKey(nil, q.Key()), append([]byte{recordFormat}, data...))
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
		if k, err := parseKept(value); err == nil {
			if back, err := parseKept(k.append(nil)); err != nil || back != k {
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
