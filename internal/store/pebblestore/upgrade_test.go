package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

// age turns a closed directory into one of format 1, as that format was
// written: see the end of the table in format.go.
func age(t *testing.T, disk *vfs.MemFS, dir string) {
	t.Helper()
	db, err := pebble.Open(dir, &pebble.Options{FS: disk, FormatMajorVersion: pebbleFormat, Logger: discard{}})
	if err != nil {
		t.Fatal(err)
	}
	b := db.NewBatch()
	for _, prefix := range []string{countPrefix, setPrefix, auditPrefix} {
		err = errors.Join(err, b.DeleteRange([]byte(prefix), prefixEnd([]byte(prefix)), nil))
	}
	number, getErr := getValue(db, numberKey)
	err = errors.Join(err, getErr, b.Delete(formatKey, nil), b.Set(numberKey, number[:8], nil))
	err = errors.Join(err, eachRecord(db, func(r *task.Task) error {
		key, _ := appendIndexEntry(nil, nil, r)
		switch {
		case r.State == task.Scheduled && r.RunNow:
			plain := r.Clone()
			plain.RunNow = false
			return errors.Join(b.Delete(key, nil), b.Set(appendDueKey(nil, plain.Lane(), plain.Entry().Position()), nil, nil))
		case !r.State.Live():
			return b.Set(key, []byte(digest(r)), nil)
		}
		return nil
	}))
	if err = errors.Join(err, db.Apply(b, pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	writeAll(t, disk, disk.PathJoin(dir, markerFile), fmt.Appendf(nil, markerText, 1, 1))
}

// everything returns all records with their bodies.
func everything(t *testing.T, s *Store) []*task.Task {
	t.Helper()
	l, err := s.List(t.Context(), task.Filter{Namespace: task.DefaultNamespace}, task.Page{Limit: 1000, Bodies: true})
	if err != nil || l.Next != "" {
		t.Fatal(l.Next, err)
	}
	return l.Tasks
}

func TestAnUpgradeFromFormat1LosesNothing(t *testing.T) {
	s := scrubWorld(t)
	disk := s.config.FS.(*vfs.MemFS)
	if _, err := s.Reap(t.Context(), benchStart+1000, 10); err != nil { // Open would do the same
		t.Fatal(err)
	}
	want := everything(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	age(t, disk, "data")
	if r, err := verify(t.Context(), disk, "data"); err != nil || r.Format != 1 || len(r.Problems) > 0 {
		t.Errorf("Verify: %v, format %d, problems %q", err, r.Format, r.Problems)
	}

	s = open(t, disk, Config{Now: clock})
	if d := cmp.Diff(want, everything(t, s)); d != "" {
		t.Error(d)
	}
	wantHealthy(t, s)
	if got := peekAll(t, s, benchStart); len(got) != 3 {
		t.Errorf("%d tasks are due, want 3: %+v", len(got), got)
	}
	urgent := record(s, "urgent")
	replies, err := s.Claim(t.Context(), benchStart, []task.Claim{{Key: urgent.Key(), Lane: urgent.Lane(), Token: "t", Until: benchStart + 1}})
	mustReplies(t, replies, err)
	if n, err := s.Sweep(t.Context(), benchStart.Add(storetest.Policy.KeepDead), 100); err != nil || n != 2 {
		t.Errorf("swept %d, error %v", n, err)
	}
	mustApply(t, s, creates(5000, 1, later))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if format, err := checkMarker(disk, "data"); err != nil || format != formatVersion {
		t.Errorf("the marker says %d, %v", format, err)
	}
	wantHealthy(t, open(t, disk, Config{Now: clock}))
}

func TestAPowerLossDuringAnUpgradeLosesNothing(t *testing.T) {
	const n = 50
	old := vfs.NewCrashableMem()
	s, err := Open("a/data", Config{FS: old, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, creates(0, n, func(int64) task.Millis { return benchStart }))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	age(t, old, "a/data")
	stride := 1
	if testing.Short() {
		stride = 5
	}
	for step := 1; ; step += stride {
		disk, done := crashAfter(t, cloneDisk(old), step)
		s, err := Open("a/data", Config{FS: disk, Now: clock})
		if err != nil {
			t.Fatalf("after %d writes: %v", step, err)
		}
		if missing := countMissing(t, s, n); missing > 0 {
			t.Errorf("after %d writes %d tasks are missing", step, missing)
		}
		wantHealthy(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if done {
			t.Logf("%d crash points", step)
			return
		}
	}
}

func TestAnUpgradeFromFormat3KeepsEachBody(t *testing.T) {
	disk := vfs.NewMem()
	s := open(t, disk, Config{Now: clock, inlineBody: 1})
	for _, name := range []string{"get", "list", "claim", "retry", "patch", "replace", "cancel"} {
		mustApply(t, s, []task.Change{task.Create{Spec: newSpec(name, benchStart)}})
	}
	withSchedule(t, s)
	want := all(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := pebble.Open("data", &pebble.Options{FS: disk, FormatMajorVersion: pebbleFormat, Logger: discard{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Set(formatKey, []byte{3}, pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	writeAll(t, disk, "data/"+markerFile, fmt.Appendf(nil, markerText, 3, 3))

	s = open(t, disk, Config{Now: clock})
	wantHealthy(t, s)
	if d := cmp.Diff(want, all(t, s)); d != "" {
		t.Error(d)
	}
	body := newSpec("x", benchStart).Request.Body
	fail := task.Outcome{Verdict: task.Failure, Status: 500, StartedAt: benchStart}
	for range 2 { // the first settlement of "retry" is a failure
		replies, err := s.Claim(t.Context(), benchStart+600_000, []task.Claim{
			{Key: clientKey("retry"), Lane: taskOf(newSpec("retry", benchStart)).Lane(), Token: "t", Until: benchStart + 700_000},
		})
		mustReplies(t, replies, err)
		if got := replies[0].Task.Request.Body; !bytes.Equal(got, body) {
			t.Errorf("the claimed body is %q", got)
		}
		replies, err = s.Settle(t.Context(), benchStart+1000, []task.Settlement{{Key: clientKey("retry"), Token: "t", Outcome: fail}})
		mustReplies(t, replies, err)
	}
	high, other := task.High, newSpec("replace", benchStart)
	other.Request.Body = []byte(`"other"`)
	other.Request.BodySize = len(other.Request.Body)
	mustApply(t, s, []task.Change{
		task.Patch{Key: clientKey("patch"), Priority: &high}, task.Replace{Spec: other}, task.Cancel{Key: clientKey("cancel")},
	})
	for name, want := range map[string][]byte{"patch": body, "replace": other.Request.Body, "retry": body, "cancel": nil} {
		if got, err := s.Get(t.Context(), clientKey(name)); err != nil || !bytes.Equal(got.Request.Body, want) {
			t.Errorf("%s: the body is %q, want %q (%v)", name, got.Request.Body, want, err)
		}
	}
	reply, err := fireOne(t.Context(), s, benchStart+10_000, "nightly")
	if err != nil || !bytes.Equal(reply.Spawned.Request.Body, body) {
		t.Errorf("the schedule fired %+v (%v)", reply.Spawned, err)
	}
	wantHealthy(t, s)
}

func TestAnOlderVersionIsRefusedBeforeAnythingIsChanged(t *testing.T) {
	disk := vfs.NewMem()
	if err := open(t, disk, Config{}).Close(); err != nil {
		t.Fatal(err)
	}
	if text := readAll(t, disk, "data/"+markerFile); !bytes.Contains(text, []byte("oldest-reader 5\n")) {
		t.Errorf("the marker: %s", text)
	}
}

// Older versions counted only the bytes of bodies, and kept those of ended
// tasks. The present bytes must not be subtracted from such a count.
func TestCountsOfAnOlderVersionAreRebuilt(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := open(t, disk, Config{Now: clock})
	mustApply(t, s, creates(0, 3, func(int64) task.Millis { return benchStart }))
	mustApply(t, s, []task.Change{task.Cancel{Key: clientKey(newName(0))}})
	want, err := s.Counts(t.Context())
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	db, err := pebble.Open("data", &pebble.Options{FS: disk, FormatMajorVersion: pebbleFormat, Logger: discard{}})
	if err != nil {
		t.Fatal(err)
	}
	b := db.NewBatch()
	for q, n := range want {
		n.Bytes = 2 * 57
		value := appendCounts(nil, n)
		err = errors.Join(err, b.Set(appendCountKey(nil, q), value[:len(value)-1], nil))
	}
	err = errors.Join(err, eachRecord(db, func(r *task.Task) error {
		if r.State.Live() {
			return nil
		}
		k := endedEntryOf(r)
		k.size = 0
		key, _ := appendIndexEntry(nil, nil, r)
		return b.Set(key, k.append(nil), nil)
	}))
	if err = errors.Join(err, db.Apply(b, pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	s = open(t, disk, Config{Now: clock})
	if got, err := s.Counts(t.Context()); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, error %v, want %v", got, err, want)
	}
	wantHealthy(t, s)
	for _, name := range []string{newName(1), newName(2)} {
		mustApply(t, s, []task.Change{task.Cancel{Key: clientKey(name)}})
	}
	if _, err := s.Sweep(t.Context(), benchStart.Add(storetest.Policy.KeepDead), 100); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Counts(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("after a sweep of everything: %v, %v", got, err)
	}
}

// The process may end while the counts are rebuilt, for example because a
// supervisor finds the start too slow. It ends between two batches here: the
// first one has removed all indexes.
func TestAStopDuringARebuildLosesNoTask(t *testing.T) {
	const n = 20_000 // more than one batch
	disk := vfs.NewMem()
	s := open(t, disk, Config{Now: clock})
	for first := int64(0); first < n; first += 1000 {
		mustApply(t, s, creates(first, 1000, func(int64) task.Millis { return benchStart }))
	}
	want, err := s.Counts(t.Context())
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	raw := func(change func(*pebble.Batch) error) {
		t.Helper()
		db, err := pebble.Open("data", &pebble.Options{FS: disk, FormatMajorVersion: pebbleFormat, Logger: discard{}})
		if err != nil {
			t.Fatal(err)
		}
		b := db.NewBatch()
		if err := errors.Join(change(b), db.Apply(b, pebble.Sync), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	stop := appendTaskKey(nil, taskPrefix, clientKey("zzz")) // a record that stops the rebuild: the last one
	raw(func(b *pebble.Batch) error {
		err := b.Set(stop, []byte{0xff}, nil)
		for q, counts := range want {
			value := appendCounts(nil, counts)
			err = errors.Join(err, b.Set(appendCountKey(nil, q), value[:len(value)-1], nil)) // as an older version wrote them
		}
		return err
	})
	if s, err := Open("data", Config{FS: disk, Now: clock}); err == nil {
		_ = s.Close()
		t.Fatal("it was not stopped")
	}
	raw(func(b *pebble.Batch) error { return b.Delete(stop, nil) })
	s = open(t, disk, Config{Now: clock})
	if got, err := s.Counts(t.Context()); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, error %v, want %v", got, err, want)
	}
	wantHealthy(t, s)
}
