package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/activity"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/wire"
)

// all reads a list to its end.
func all[T any](t *testing.T, seq iter.Seq2[*T, error]) (items []*T) {
	t.Helper()
	for v, err := range seq {
		fatal.If(t, err)
		items = append(items, v)
	}
	return items
}

func TestQueueSettingsArePutAndRead(t *testing.T) {
	c := serve(t).client()
	ok := must[*client.Queue](t)
	asked := client.QueueSettings{
		Rate: 0.5, Burst: 3, Concurrency: 7, PerDestination: 2,
		Retry:   client.Retry{MaxAttempts: client.Unlimited, MinBackoff: 2 * time.Second, MaxAge: client.Forever},
		Timeout: 3 * time.Second, ExpireAfter: client.Duration(time.Hour), OnDead: "http://127.0.0.1:9/dead", KeepFinished: time.Hour, KeepDead: 48 * time.Hour,
	}
	made := ok(c.Queues.Put(t.Context(), "mail", asked, client.IfNoneMatch()))
	if diff := cmp.Diff(asked, made.QueueSettings); diff != "" || made.Version != 1 || made.ETag() == "" {
		t.Errorf("version %d, tag %s (-want +got):\n%s", made.Version, made.ETag(), diff)
	}
	if _, err := c.Queues.Put(t.Context(), "mail", asked, client.IfNoneMatch()); !errors.Is(err, client.ErrPrecondition) || err.Error()[:len("put queue mail: ")] != "put queue mail: " {
		t.Error(err)
	}
	again := ok(c.Queues.Put(t.Context(), "mail", client.QueueSettings{Concurrency: 1}, client.IfMatch(made.ETag())))
	if _, err := c.Queues.Put(t.Context(), "mail", asked, client.IfMatch(made.ETag())); !errors.Is(err, client.ErrPrecondition) || again.ETag() == made.ETag() {
		t.Error(err)
	}
	if got := ok(c.Queues.Get(t.Context(), "mail")); got.Concurrency != 1 || got.Rate != 0 || got.Retry != (client.Retry{}) {
		t.Errorf("%+v", got)
	}
	until := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	if got := ok(c.Queues.Pause(t.Context(), "mail", client.Until(until))); !got.Paused || !got.PausedUntil.Equal(until) {
		t.Errorf("%+v", got)
	}
	if got := ok(c.Queues.Pause(t.Context(), "mail")); !got.Paused || !got.PausedUntil.IsZero() {
		t.Errorf("%+v", got)
	}
	spec := hour("a")
	spec.Queue = "mail"
	must[*client.Task](t)(c.Tasks.Create(t.Context(), spec))
	if got := must[*client.Task](t)(c.Tasks.Get(t.Context(), "a")); got.State != client.StateHeld || got.State.Ended() {
		t.Errorf("a task of a paused queue is %s", got.State)
	}
	if got := ok(c.Queues.Resume(t.Context(), "mail")); got.Paused || got.Counts.Scheduled != 1 {
		t.Errorf("%+v", got)
	}
	var differs *client.Error
	if _, err := c.Queues.Purge(t.Context(), "mail", client.Expect(2)); !errors.Is(err, client.ErrCount) || !errors.As(err, &differs) || differs.Count != 1 {
		t.Errorf("a purge of 2 tasks in a queue of 1: %v", err)
	}
	if got := ok(c.Queues.Get(t.Context(), "mail")); got.Purging {
		t.Errorf("a purge that was refused began: %+v", got)
	}
	if got := ok(c.Queues.Purge(t.Context(), "mail", client.Expect(1))); !got.Purging {
		t.Errorf("%+v", got)
	}
	if _, err := c.Queues.Delete(t.Context(), "mail"); !errors.Is(err, client.ErrConflict) {
		t.Errorf("a queue that is being purged is deleted: %v", err)
	}
	ok(c.Queues.Put(t.Context(), "other", client.QueueSettings{}))
	if list := all(t, c.Queues.List(t.Context())); len(list) != 2 || list[0].Name != "mail" || list[1].Name != "other" {
		t.Errorf("%v", list)
	}
	ok(c.Queues.Delete(t.Context(), "other"))
	if _, err := c.Queues.Get(t.Context(), "other"); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	if _, err := c.Queues.Get(t.Context(), ".."); err == nil || client.MaybeApplied(err) {
		t.Error(err)
	}
}

func TestTokensAllowTheirScope(t *testing.T) {
	s := serve(t)
	operator := must[*admin.Token](t)(admin.New(s.client()).Tokens.Create(t.Context(), admin.TokenSpec{Scope: admin.ScopeAdmin, Namespace: admin.AllNamespaces, Label: "root"}))
	if fmt.Sprintf("%v %+v %s", operator, *operator, operator) == "" || strings.Contains(fmt.Sprintf("%v %+v %s", operator, *operator, operator), operator.Token) {
		t.Errorf("a token prints itself: %v", operator)
	}
	if _, err := s.client().Tasks.Get(t.Context(), "a"); !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("without a token: %v", err)
	}
	root := s.client(client.Options{Token: operator.Token})
	must[*admin.Namespace](t)(admin.New(root).Namespaces.Put(t.Context(), "acme", admin.NamespaceSettings{MaxPending: 2, CreateRate: 1000}))
	until := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	writer := must[*admin.Token](t)(admin.New(root).Tokens.Create(t.Context(), admin.TokenSpec{Scope: admin.ScopeWrite, Namespace: "acme", ExpiresAt: until}))
	if !writer.ExpiresAt.Equal(until) || writer.Namespace != "acme" || writer.State != "active" {
		t.Errorf("%+v", writer)
	}
	acme := s.client(client.Options{Token: writer.Token})
	must[*client.Task](t)(acme.Tasks.Create(t.Context(), hour("a")))
	if _, err := root.Tasks.Get(t.Context(), "a"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("of another namespace: %v", err)
	}
	inAcme := s.client(client.Options{Token: operator.Token, Namespace: "acme"})
	must[*client.Task](t)(inAcme.Tasks.Get(t.Context(), "a"))
	must[*client.Task](t)(acme.Tasks.Publish(t.Context(), client.Publication{URL: "http://127.0.0.1:9/", Delay: time.Hour}))
	must[*client.Task](t)(inAcme.Tasks.Get(t.Context(), "a"))
	if _, err := acme.Tasks.Create(t.Context(), hour("c")); !errors.Is(err, client.ErrQuota) || errors.Is(err, client.ErrForbidden) {
		t.Errorf("beyond the quota: %v", err)
	}
	if _, err := acme.Queues.Put(t.Context(), "q", client.QueueSettings{}); !errors.Is(err, client.ErrForbidden) || errors.Is(err, client.ErrQuota) {
		t.Errorf("beyond the scope: %v", err)
	}
	if got := must[*admin.Namespace](t)(admin.New(root).Namespaces.Get(t.Context(), "acme")); got.Counts.Scheduled != 2 || got.MaxPending != 2 || got.ETag() == "" {
		t.Errorf("%+v", got)
	}
	if list := all(t, admin.New(root).Namespaces.List(t.Context())); len(list) != 2 {
		t.Errorf("%v", list)
	}
	if _, err := admin.New(root).Namespaces.Delete(t.Context(), "acme"); !errors.Is(err, client.ErrConflict) {
		t.Errorf("a namespace with tasks is deleted: %v", err)
	}
	if list := all(t, admin.New(root).Tokens.List(t.Context())); len(list) != 2 || list[0].Token != "" {
		t.Errorf("%v", list)
	}
	for range 2 {
		if got := must[*admin.Token](t)(admin.New(root).Tokens.Revoke(t.Context(), writer.ID)); got.State != "revoked" || got.RevokedAt.IsZero() {
			t.Errorf("%+v", got)
		}
	}
	if got := must[*admin.Token](t)(admin.New(root).Tokens.Revoke(t.Context(), writer.ID, client.Children(), client.Force())); got.State != "revoked" || got.Parent != operator.ID {
		t.Errorf("%+v", got)
	}
	if _, err := acme.Tasks.Get(t.Context(), "a"); !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("a revoked token: %v", err)
	}
	entries := all(t, admin.New(root).Audit(t.Context(), admin.AuditQuery{Action: "token.create", From: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}))
	if len(entries) != 2 || entries[1].By != "anonymous" || entries[0].By != "token:"+operator.ID+" "+operator.Label || entries[0].At.IsZero() {
		t.Errorf("%+v", entries)
	}
}

func TestSecretsAreShownOnce(t *testing.T) {
	c := serve(t).client()
	first := must[*admin.Secret](t)(admin.New(c).Secrets.Create(t.Context(), admin.SecretSpec{}))
	second := must[*admin.Secret](t)(admin.New(c).Secrets.Create(t.Context(), admin.SecretSpec{Overlap: time.Hour}))
	if !strings.HasPrefix(first.Secret, "whsec_") || strings.Contains(fmt.Sprintf("%v %+v", first, *first), first.Secret) {
		t.Errorf("%#v", first)
	}
	list := all(t, admin.New(c).Secrets.List(t.Context()))
	if list[0].ID != second.ID { // created in the same millisecond, so in no order
		list[0], list[1] = list[1], list[0]
	}
	if len(list) != 2 || list[0].Secret != "" || list[1].ID != first.ID {
		t.Errorf("%v", list)
	}
	must[*admin.Secret](t)(admin.New(c).Secrets.Delete(t.Context(), first.ID))
	if _, err := admin.New(c).Secrets.Delete(t.Context(), first.ID); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}

func TestABackupIsCompleteOrAnError(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 100_000)
	var fail error
	s := serve(t, func(cfg *api.Config) {
		cfg.Engine = servertest.Engine{OnBackup: func(_ context.Context, w io.Writer) error {
			if _, err := w.Write(data); err != nil {
				return err
			}
			return fail
		}}
	})
	c := s.client()
	var got bytes.Buffer
	if n, err := admin.New(c).Backup(t.Context(), &got); err != nil || n != int64(len(data)) || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("%d bytes of %d, %v", n, len(data), err)
	}
	fail = errors.New("the disk is broken")
	got.Reset()
	var transport *client.TransportError
	if n, err := admin.New(c).Backup(t.Context(), &got); !errors.As(err, &transport) || n > int64(len(data)) || !strings.Contains(err.Error(), "the backup ended after") {
		t.Errorf("a backup that broke off: %d bytes, %v", n, err)
	}
	full := errors.New("no space left")
	if _, err := admin.New(c).Backup(t.Context(), failing{full}); !errors.Is(err, full) || errors.As(err, &transport) {
		t.Errorf("a writer that fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := admin.New(c).Backup(ctx, cancelling{cancel}); !errors.Is(err, context.Canceled) {
		t.Errorf("a backup that is given up: %v", err)
	}
	if _, err := admin.New(serve(t).client()).Backup(t.Context(), &got); err == nil {
		t.Error("a server without backups gives one")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

type cancelling struct{ cancel context.CancelFunc }

func (c cancelling) Write(p []byte) (int, error) {
	c.cancel()
	return len(p), nil
}

func TestLiveDataIsRead(t *testing.T) {
	shown := wire.Live{
		At: "2030-01-01T00:00:00.000Z", Running: 3, Slots: 9,
		Late:         &wire.Lateness{Count: 5, P50MS: 0.5, P90MS: 1, P99MS: 2.25, MaxMS: 1000},
		Attempts:     &wire.AttemptTotals{Delivered: 1, Failed: 2, Snoozed: 3, Refused: 4, Interrupted: 5, Dead: 6},
		Queues:       []wire.LiveQueue{{Namespace: "default", Queue: "mail", Running: 1, Overdue: 2, OldestMS: 1500, LimitedBy: "rate"}},
		Destinations: []wire.LiveDestination{{Namespace: "default", Destination: "a:443", Running: 1, Overdue: 2, OldestMS: 3, Breaker: "open", OpenUntil: "2030-01-01T00:00:01.000Z"}},
	}
	c := serve(t, func(cfg *api.Config) {
		cfg.Engine = servertest.Engine{OnLive: func() wire.Live { return shown }}
		cfg.Version = "v1.2.3"
	}).client()
	live := must[*admin.Live](t)(admin.New(c).Live(t.Context()))
	if live.Late.P99 != 2250*time.Microsecond || live.Queues[0].Oldest != 1500*time.Millisecond || live.Destinations[0].OpenUntil.IsZero() || live.Attempts.Dead != 6 {
		t.Errorf("%+v", live)
	}
	again(t, live)
	cluster := must[*admin.Cluster](t)(admin.New(c).Cluster(t.Context()))
	if len(cluster.Nodes) != 1 || cluster.Nodes[0].Version != "v1.2.3" || !cluster.Nodes[0].Ready || cluster.Durability != "memory" || cluster.Secured {
		t.Errorf("%+v", cluster)
	}
	again(t, cluster)
	me := must[*admin.Identity](t)(admin.New(c).Whoami(t.Context()))
	if me.Scope != admin.ScopeAdmin || !me.Operator || me.Token != nil || me.Version != "v1.2.3" || me.Now.IsZero() {
		t.Errorf("%+v", me)
	}
	again(t, me)
}

// Each type that the package reads is written in the same form, and reads the
// same again.
func again[T any](t *testing.T, v *T) {
	t.Helper()
	data, err := json.Marshal(v)
	fatal.If(t, err)
	got := new(T)
	fatal.If(t, json.Unmarshal(data, got))
	if diff := cmp.Diff(v, got, cmp.AllowUnexported(client.Body{}, client.DeadNotice{}), cmpopts.IgnoreUnexported(client.Queue{}, admin.Namespace{})); diff != "" {
		t.Errorf("%T, written and read (-want +got):\n%s\n%s", v, diff, data)
	}
}

func TestActivityIsRead(t *testing.T) {
	c := serve(t, func(cfg *api.Config) {
		cfg.Engine = servertest.Engine{
			OnAttempts: func(f activity.Filter, _ bool) wire.AttemptList {
				return wire.AttemptList{Attempts: []wire.EndedAttempt{{At: "2030-01-01T00:00:00.000Z", Queue: f.Queue, Outcome: f.Outcomes[0], Number: f.Limit, LateMS: 1.5}}}
			},
		}
	}).client()
	list := must[*admin.AttemptList](t)(admin.New(c).Attempts(t.Context(), admin.AttemptQuery{Queue: "q", Outcomes: []string{"refused"}, Limit: 3}))
	if a := list.Attempts[0]; a.Queue != "q" || a.Outcome != "refused" || a.Number != 3 || a.Late != 1500*time.Microsecond {
		t.Errorf("%+v", list)
	}
}

func TestEveryTypeIsWrittenAsTheAPIDoes(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	spec := hour("a")
	spec.HTTP.Body, spec.OnDead, spec.Retry, spec.ExpireAfter = client.Bytes([]byte{0, 1}), client.NoDeadNotice, client.Retry{MaxAttempts: client.Unlimited, MaxAge: client.Forever}, client.Forever
	again(t, &spec)
	again(t, &client.Task{
		Spec: spec, ID: "1", State: client.StateDead, Reason: "gone", DueAt: at, Version: 3, CreatedAt: at, FinishedAt: at, CancelRequested: true,
		BodySize: 2, Reclaims: 1, AttemptsStarted: 2, Traceparent: "00", Durability: "synced",
		Attempts: []client.Attempt{{Number: 1, StartedAt: at, Status: 500, Error: "e", Reply: "r", Latency: 1500 * time.Microsecond, Late: time.Second}},
	})
	again(t, &client.Queue{QueueSettings: client.QueueSettings{Rate: 1, Retry: client.Retry{MaxAttempts: 3}}, Name: "q", Paused: true, PausedUntil: at, Version: 1, CreatedAt: at, Counts: client.Counts{Dead: 1}})
	again(t, &client.QueueSettings{Timeout: time.Second, ExpireAfter: client.Forever})
	again(t, &admin.NamespaceSettings{MaxPending: 1})
	again(t, &admin.Namespace{Name: "n", CreatedAt: at, Counts: client.Counts{Bytes: 1}})
	again(t, &admin.Token{ID: "1", Scope: admin.ScopeRead, State: "active", CreatedAt: at, LastUsedAt: at, Token: "foliot_"})
	again(t, &admin.Secret{ID: "1", Queue: "q", CreatedAt: at, ExpiresAt: at, NamespaceSignsUntil: at, Secret: "whsec_"})
	again(t, &client.RulePreview{
		Words: "w", Days: []int{1}, Instants: []client.Instant{{At: at, Local: at}}, ClockChanges: []client.ClockChange{{At: at, Local: at.Truncate(time.Second), Repeats: true, Words: "c"}},
		Absence: &client.Absence{Fired: 1, Latest: []client.Instant{{At: at, Local: at}}, Skipped: []client.SkippedInstants{{From: at, Until: at, Why: "missed"}}},
	})
	again(t, &admin.AttemptList{Node: "a", Since: at, Attempts: []admin.EndedAttempt{{At: at, Namespace: "n", Queue: "q", Task: "t", Number: 1, Destination: "d:1", Outcome: "failed", Status: 500, Error: "e", Late: time.Millisecond, Latency: time.Second, Dead: true, Reason: "gone"}}})
	again(t, &client.Upcoming{
		Time: at, Until: at, More: true,
		Items: []client.UpcomingItem{{Due: at, Namespace: "n", Queue: "q", Name: "s@1", URL: "http://a.example/", Schedule: "s", Instant: true, Attempt: 2, Held: "pause"}},
	})
	again(t, &admin.Identity{Namespace: "n", Scope: admin.ScopeRead, Token: &admin.Token{ID: "1", CreatedAt: at}, Secured: true, Node: "a", Version: "v", Store: "shared", Durability: "strict", Now: at})
	again(t, &admin.AuditEntry{At: at, By: "upkeep", Action: "queue.purge", Version: 7})
}

// A long list is read page by page.
func TestListsOfSettingsGoThroughAllPages(t *testing.T) {
	s := serve(t)
	c := s.client()
	s.through = func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); r.Method == http.MethodGet && q.Get("limit") == "1000" {
			q.Set("limit", "2")
			r.URL.RawQuery = q.Encode()
		}
		api.ServeHTTP(w, r)
	}
	for i := range 5 {
		must[*client.Queue](t)(c.Queues.Put(t.Context(), fmt.Sprintf("q-%d", i), client.QueueSettings{}))
	}
	if list := all(t, c.Queues.List(t.Context())); len(list) != 5 || list[4].Name != "q-4" {
		t.Errorf("%v", list)
	}
	if entries := all(t, admin.New(c).Audit(t.Context(), admin.AuditQuery{})); len(entries) != 5 || entries[0].Target != "q-4" {
		t.Errorf("%v", entries)
	}
}
