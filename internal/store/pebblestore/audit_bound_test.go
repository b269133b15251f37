package pebblestore

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

// TestTheAuditLogIsCountedAgainAfterACrash: the counts of its entries are not
// on disk. So neither a crash nor a version that did not count can make them
// wrong.
func TestTheAuditLogIsCountedAgainAfterACrash(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Config{})
	const now task.Millis = 1_800_000_000_000
	if _, err := s.Configure(t.Context(), now, []settings.Edit{settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "acme"}}}); err != nil {
		t.Fatal(err)
	}
	churn := func(s *Store, n int) {
		t.Helper()
		for range n {
			spec := task.DefaultSpec()
			spec.Name, spec.ID, spec.Namespace = "x", task.NewID(now), "acme"
			spec.Request.URL, spec.When = "https://receiver.example/", task.When{At: now}
			if r, err := s.Transit(t.Context(), now, store.Changes([]task.Change{task.Replace{Spec: spec}})); err != nil || r[0].Err != nil {
				t.Fatal(err, r[0].Err)
			}
		}
	}
	quota := func(s *Store, bytes int64) {
		t.Helper()
		if _, err := s.Configure(t.Context(), now, []settings.Edit{settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "acme", MaxBytes: bytes}}}); err != nil {
			t.Fatal(err)
		}
	}
	sweep := func(s *Store) {
		t.Helper()
		for range 4 {
			if _, err := s.Sweep(t.Context(), now, 1000); err != nil {
				t.Fatal(err)
			}
		}
	}
	counted := func(s *Store) (entries int64) {
		t.Helper()
		for before := uint64(0); ; {
			page, err := s.Audit(t.Context(), settings.AuditFilter{Namespace: "acme"}, before, 1000)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Entries {
				if e.OfTask() {
					entries++
				}
			}
			if before = page.Next; before == 0 {
				return entries
			}
		}
	}
	const room = settings.MinAuditEntries
	churn(s, room) // without a quota: nothing is counted
	for _, step := range []struct{ changes, left int64 }{
		{0, room}, {1, settings.AuditKept(room)}, {room - settings.AuditKept(room), room}, {1, settings.AuditKept(room)},
	} {
		s = open(t, powerOff(fs), Config{})
		fs = s.config.FS.(*vfs.MemFS)
		quota(s, 1<<16)
		churn(s, int(step.changes/2))
		sweep(s)
		churn(s, int(step.changes-step.changes/2))
		sweep(s)
		if n := counted(s); n != step.left {
			t.Errorf("after %d more: %d entries are left, want %d", step.changes, n, step.left)
		}
	}
	if _, err := s.Sweep(t.Context(), now.Add(storetest.AuditKeep), 10_000); err != nil {
		t.Fatal(err)
	}
	churn(s, room)
	sweep(s)
	if n := counted(s); n != room {
		t.Errorf("after others went by age: %d entries", n)
	}
}

// TestTheAuditLogIsBoundedWhileOldEntriesAreRemovedByAge: on a server that has
// worked for longer than AuditKeep, each sweep finds entries that are too old.
func TestTheAuditLogIsBoundedWhileOldEntriesAreRemovedByAge(t *testing.T) {
	s := open(t, vfs.NewMem(), Config{})
	const now task.Millis = 1_800_000_000_000
	if _, err := s.Configure(t.Context(), now-1, []settings.Edit{settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "acme", MaxBytes: 1 << 16}}}); err != nil {
		t.Fatal(err)
	}
	replace := func(namespace string, at task.Millis) {
		t.Helper()
		spec := newSpec("x", now)
		spec.Namespace = namespace
		if r, err := s.Transit(t.Context(), at, store.Changes([]task.Change{task.Replace{Spec: spec}})); err != nil || r[0].Err != nil {
			t.Fatal(err, r)
		}
	}
	const sweeps = 5
	for i := range sweeps {
		replace(task.DefaultNamespace, now+task.Millis(i))
	}
	for range settings.MinAuditEntries + 1 {
		replace("acme", now+1000)
	}
	if _, err := s.Sweep(t.Context(), now.Add(storetest.AuditKeep)-1, 1000); err != nil { // the entry of the quota
		t.Fatal(err)
	}
	for i := range sweeps {
		if n, err := s.Sweep(t.Context(), now.Add(storetest.AuditKeep)+task.Millis(i), 1000); err != nil || n != 1 {
			t.Fatalf("swept %d, error %v", n, err)
		}
	}
	left := 0
	for before := uint64(0); ; {
		page, err := s.Audit(t.Context(), settings.AuditFilter{Namespace: "acme", Target: "x"}, before, 1000)
		if err != nil {
			t.Fatal(err)
		}
		left += len(page.Entries)
		if before = page.Next; before == 0 {
			break
		}
	}
	if want := settings.AuditKept(settings.MinAuditEntries); int64(left) != want {
		t.Errorf("%d entries of its task are left, want %d", left, want)
	}
}
