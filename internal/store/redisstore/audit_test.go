package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

// auditOf returns the actions and targets of the log, newest first.
func auditOf(t *testing.T, s *Store, f settings.AuditFilter) (lines []string) {
	t.Helper()
	var before uint64
	for {
		page, err := s.Audit(t.Context(), f, before, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			lines = append(lines, e.Namespace+" "+e.Action+" "+e.Target)
		}
		if before = page.Next; before == 0 {
			return lines
		}
	}
}

// boundedLog opens a store whose audit log keeps 100 entries for each
// namespace, and applies edits.
func boundedLog(t *testing.T, now task.Millis, edits ...settings.Edit) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{
		Client: rueidis.ClientOption{InitAddress: []string{redistest.New(t).Addr}, DisableCache: true},
		Shards: 8, Policy: storetest.Policy, AuditKeep: storetest.AuditKeep, AuditLength: 100, CallersClock: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	edit(t, s, now, edits...)
	return s
}

// acme creates a namespace whose admin pauses a queue.
func acme(queue string) []settings.Edit {
	return []settings.Edit{settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "acme"}}, settings.PauseQueue{Namespace: "acme", Name: queue, Paused: true}}
}

func TestANamespaceAboveItsBoundLosesOnlyItsOwnOldestEntries(t *testing.T) {
	t.Parallel()
	const now task.Millis = 1_800_000_000_000
	s := boundedLog(t, now, settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "quiet"}}, settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "loud"}},
		settings.PauseQueue{Namespace: "quiet", Name: "q", Paused: true})
	before := fmt.Sprint(auditOf(t, s, settings.AuditFilter{}))
	edits := make([]settings.Edit, 150)
	for i := range edits {
		edits[i] = settings.PauseQueue{Namespace: "loud", Name: fmt.Sprint("q", i), Paused: true}
	}
	edit(t, s, now, edits...)
	if n, err := s.Sweep(t.Context(), now, 1000); n != 0 || err != nil {
		t.Fatalf("swept %d, error %v", n, err)
	}
	all := auditOf(t, s, settings.AuditFilter{})
	if len(all) != 3+90+1 || fmt.Sprint(all[91:]) != before {
		t.Errorf("%d entries, the last ones %v, want %v", len(all), all[max(0, len(all)-3):], before)
	}
	page, err := s.Audit(t.Context(), settings.AuditFilter{Namespace: "loud"}, 0, 1000)
	if err != nil || len(page.Entries) != 91 {
		t.Fatalf("%d entries, error %v", len(page.Entries), err)
	}
	if e := page.Entries[0]; e.Action != "audit.drop" || !strings.Contains(e.Detail, "oldest 60 entries") {
		t.Errorf("the newest entry: %+v", e)
	}
	if oldest := page.Entries[90]; oldest.Target != "q60" {
		t.Errorf("the oldest entry that is left: %+v", oldest)
	}
}

// TestEntriesOfRefusedTokensRemoveNoOtherEntries: a client that guesses tokens,
// or uses an expired one, must not push out the entries of admins.
func TestEntriesOfRefusedTokensRemoveNoOtherEntries(t *testing.T) {
	t.Parallel()
	const now task.Millis = 1_800_000_000_000
	s := boundedLog(t, now, acme("q")...)
	var refused []settings.AuditEntry
	for i := range 600 {
		refused = append(refused, settings.AuditEntry{At: now, Namespace: []string{"", "acme"}[i%2], Action: []string{settings.ActionTokenRefused, settings.ActionScopeRefused}[i/2%2]})
	}
	if err := s.Record(t.Context(), refused); err != nil {
		t.Fatal(err)
	}
	if n := len(auditOf(t, s, settings.AuditFilter{})); n != 602 {
		t.Fatalf("%d entries", n)
	}
	if _, err := s.Sweep(t.Context(), now, 1000); err != nil {
		t.Fatal(err)
	}
	left := auditOf(t, s, settings.AuditFilter{})
	if !slices.Contains(left, " namespace.put acme") || !slices.Contains(left, "acme queue.pause q") || !slices.Contains(left, "acme audit.drop acme") || len(left) != 2+2*90+2 {
		t.Errorf("%d are left: %v", len(left), left)
	}
}

// TestEntriesOfTasksDoNotRemoveEntriesOfAdmins: a namespace that changes
// tasks without end loses entries of tasks at each sweep, and an entry records
// that each time.
func TestEntriesOfTasksDoNotRemoveEntriesOfAdmins(t *testing.T) {
	t.Parallel()
	const now task.Millis = 1_800_000_000_000
	s := boundedLog(t, now, acme("q")...)
	for range 200 {
		if err := s.Record(t.Context(), []settings.AuditEntry{settings.AuditDropped(now, "acme", 10, 100)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Sweep(t.Context(), now, 1000); err != nil {
		t.Fatal(err)
	}
	left := auditOf(t, s, settings.AuditFilter{Namespace: "acme"})
	if !slices.Contains(left, "acme queue.pause q") || len(left) != 1+90+1 {
		t.Errorf("%d are left: %v", len(left), left)
	}
}

// TestASweepReadsAboutAsManyEntriesAsItRemoves holds for any number of streams
// with old entries. Each node sweeps every ten seconds.
func TestASweepReadsAboutAsManyEntriesAsItRemoves(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	s := openAt(t, r.Addr)
	defer func() { _ = s.Close() }()
	const now, changes, batch, limit = task.Millis(1_800_000_000_000), 3000, 500, 400
	for first := 0; first < changes; first += batch {
		list := make([]task.Change, batch)
		for i := range list {
			list[i] = task.Replace{Spec: specOf(t, fmt.Sprint("t", i), now.Add(storetest.AuditKeep)+1000)}
		}
		if _, err := s.Transit(t.Context(), now, store.Changes(list)); err != nil {
			t.Fatal(err)
		}
	}
	sent := func() (bytes int64) {
		t.Helper()
		for line := range strings.Lines(redis(t, r, "INFO", "stats")) {
			if n, ok := strings.CutPrefix(line, "total_net_output_bytes:"); ok {
				bytes, _ = strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			}
		}
		return bytes
	}
	before, entries := sent(), 0
	for _, sh := range s.shards {
		c := s.servers.Client
		list, err := c.Do(t.Context(), c.B().Xrange().Key(keyspace.LogOf(sh.Log, task.DefaultNamespace)).Start("-").End("+").Build()).AsXRange()
		if err != nil {
			t.Fatal(err)
		}
		entries += len(list)
	}
	if entries != changes {
		t.Fatalf("%d entries", entries)
	}
	all := sent() - before
	over := now.Add(storetest.AuditKeep)
	before = sent()
	if n, err := s.Sweep(t.Context(), over, limit); n != limit || err != nil {
		t.Errorf("swept %d, error %v", n, err)
	}
	if read := (sent() - before) * changes / all; read > 4*limit {
		t.Errorf("a sweep of %d entries read about %d", limit, read)
	}
	for left := changes - limit; left > 0; left -= limit {
		if n, err := s.Sweep(t.Context(), over, limit); n != min(limit, left) || err != nil {
			t.Fatalf("swept %d, error %v", n, err)
		}
	}
}
