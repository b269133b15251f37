package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/trustedclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func now() task.Millis { return task.CeilMillis(time.Now()) }

// add creates tasks in a queue.
func add(t *testing.T, s store.TaskStore, queue string, count int) {
	t.Helper()
	changes := make([]task.Change, count)
	for i := range changes {
		spec := task.DefaultSpec()
		spec.Name, spec.Queue = fmt.Sprintf("%s-%d", queue, i), queue
		spec.ID = spec.Name
		spec.Request.URL = "https://receiver.example/"
		spec.When = task.When{Relative: true, Delay: time.Hour}
		fatal.If(t, spec.Validate(now()))
		changes[i] = task.Create{Spec: spec}
	}
	replies, err := s.Transit(t.Context(), now(), store.Changes(changes))
	fatal.If(t, err)
	for _, r := range replies {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

func configure(t *testing.T, s store.SettingsStore, edits ...settings.Edit) {
	t.Helper()
	replies, err := s.Configure(t.Context(), now(), edits)
	fatal.If(t, err)
	for _, r := range replies {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

// run starts a Worker. It ends with the test, or when stop is called.
func run(t *testing.T, c Config, s taskStore) (w *Worker, stop func()) {
	w = New(c, s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return w, stop
}

func TestAPurgeCancelsExistingTasksAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Config{})
		add(t, s, "doomed", 3*purgePage/2)
		add(t, s, "other", 3)
		configure(t, s, settings.PurgeQueue{Namespace: "default", Name: "doomed"})
		young := task.DefaultSpec()
		young.Name, young.ID, young.Queue, young.Request.URL = "young", "young", "doomed", "https://receiver.example/"
		young.When = task.When{Relative: true, Delay: time.Hour}
		if _, err := s.Transit(t.Context(), now().Add(settings.PurgeSkew), store.Changes([]task.Change{task.Create{Spec: young}})); err != nil {
			t.Fatal(err)
		}
		w, _ := run(t, Config{}, s)
		w.Wake()
		synctest.Wait()

		counts, err := s.Counts(t.Context())
		fatal.If(t, err)
		doomed, other := counts[task.QueueKey{Namespace: "default", Queue: "doomed"}], counts[task.QueueKey{Namespace: "default", Queue: "other"}]
		if doomed.Pending() != 1 || doomed.States[task.Cancelled] != 3*purgePage/2 || other.Pending() != 3 {
			t.Errorf("doomed %+v, other %+v", doomed, other)
		}
		got, err := s.Get(t.Context(), task.Key{Namespace: "default", Name: "doomed-0"})
		if err != nil || got.Reason != task.ReasonPurged {
			t.Errorf("%+v, %v", got, err)
		}
		if q := s.Standing().Settings.Queue("default", "doomed"); q.PurgeBefore != 0 {
			t.Errorf("the purge has no end: %+v", q)
		}
		log, err := s.Audit(t.Context(), settings.AuditFilter{Action: "queue.purged"}, 0, 10)
		if err != nil || len(log.Entries) != 1 || log.Entries[0].By != "upkeep" || log.Entries[0].Detail != fmt.Sprint("cancelled ", 3*purgePage/2) {
			t.Errorf("%+v, %v", log, err)
		}
	})
}

func TestAPurgeIsFoundWithoutAWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Config{})
		add(t, s, "doomed", 1)
		run(t, Config{}, s)
		synctest.Wait()
		configure(t, s, settings.PurgeQueue{Namespace: "default", Name: "doomed"}) // no Wake
		time.Sleep(1500 * time.Millisecond)
		if q := s.Standing().Settings.Queue("default", "doomed"); q.PurgeBefore != 0 {
			t.Errorf("%+v", q)
		}
	})
}

// faulty fails a number of times before it works.
type faulty struct {
	*memstore.Store
	fails int
}

func (f *faulty) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	if f.fails > 0 {
		f.fails--
		return nil, errors.New("the disk is on holiday")
	}
	return f.Store.Transit(ctx, now, steps)
}

func TestAPurgeThatFailsIsBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: memstore.New(memstore.Config{}), fails: 0}
		add(t, s, "doomed", purgePage+1)
		configure(t, s, settings.PurgeQueue{Namespace: "default", Name: "doomed"})
		s.fails = 3
		run(t, Config{}, s)
		time.Sleep(10 * time.Second)
		counts, _ := s.Counts(t.Context())
		if c := counts[task.QueueKey{Namespace: "default", Queue: "doomed"}]; c.Pending() != 0 || s.fails != 0 {
			t.Errorf("%+v, %d failures left", c, s.fails)
		}
	})
}

// watching records how many pages were cancelled when each purge ended.
type watching struct {
	*memstore.Store
	pages int
	ended map[string]int // by queue
}

func (w *watching) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	w.pages++
	return w.Store.Transit(ctx, now, steps)
}

func (w *watching) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	for _, e := range edits {
		w.ended[e.Target().Name] = w.pages
	}
	return w.Store.Configure(ctx, now, edits)
}

func TestAPurgeOfManyDoesNotHoldUpThatOfAFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watching{Store: memstore.New(memstore.Config{}), ended: map[string]int{}}
		add(t, s, "few", 1)
		add(t, s, "crowd", 10*purgePage)
		configure(t, s.Store, settings.PurgeQueue{Namespace: "default", Name: "crowd"}, settings.PurgeQueue{Namespace: "default", Name: "few"})
		s.pages = 0
		run(t, Config{}, s)
		time.Sleep(time.Minute)
		synctest.Wait()
		if few, crowd := s.ended["few"], s.ended["crowd"]; few == 0 || few > 4 || crowd < 10 {
			t.Errorf("the purge of one ended after %d pages, that of a crowd after %d", few, crowd)
		}
	})
}

func TestUsesOfTokensAreRecordedOnceAMinuteAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Config{})
		_, hash := settings.MintToken()
		configure(t, s, settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeRead, Hash: hash})
		id := s.Standing().Settings.Token(hash, now()).ID
		var pending []settings.Edit
		uses := func() []settings.Edit { taken := pending; pending = nil; return taken }
		use := func(at task.Millis) {
			pending = append(pending, settings.UseToken{Namespace: settings.AllNamespaces, ID: id, At: at})
		}
		use(1)
		_, stop := run(t, Config{Pending: uses}, s)
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if got := s.Standing().Settings.Token(hash, now()).LastUsedAt; got != 1 {
			t.Errorf("after a minute: %d", got)
		}
		use(2)
		stop()
		if got := s.Standing().Settings.Token(hash, now()).LastUsedAt; got != 2 {
			t.Errorf("at the end: %d", got)
		}
	})
}

func TestTokensThatEndedAreForgottenAfterTheAuditLogsRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Config{})
		const many = 2*forgetPage + 7
		for range many {
			_, hash := settings.MintToken()
			configure(t, s, settings.AddToken{Namespace: task.DefaultNamespace, Scope: settings.ScopeRead, Hash: hash, ExpiresAt: now() + 1})
		}
		_, hash := settings.MintToken()
		configure(t, s, settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeAdmin, Hash: hash})
		run(t, Config{KeepTokens: 24 * time.Hour}, s)
		left := func() int { return len(s.Standing().Settings.List(settings.TokenKind, "")) }
		time.Sleep(23 * time.Hour)
		synctest.Wait()
		if n := left(); n != many+1 {
			t.Errorf("before the end: %d records", n)
		}
		time.Sleep(time.Hour + 11*time.Minute)
		synctest.Wait()
		if n := left(); n != 1 || !s.Standing().Settings.Secured() {
			t.Errorf("after the end: %d records", n)
		}
	})
}

func TestAClockThatIsAheadForAMomentForgetsNoToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		s := memstore.New(memstore.Config{})
		_, operator := settings.MintToken()
		_, hash := settings.MintToken()
		configure(t, s, settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeAdmin, Hash: operator},
			settings.AddToken{Namespace: task.DefaultNamespace, Scope: settings.ScopeRead, Hash: hash, ExpiresAt: now().Add(time.Hour)})
		run(t, Config{Now: clock, Trusted: trustedclock.New(clock, nil).Now, KeepTokens: time.Hour}, s)
		time.Sleep(forgetEvery - time.Second)
		ahead.Store(int64(365 * 24 * time.Hour))
		time.Sleep(2 * time.Second) // tokens are forgotten in between
		ahead.Store(0)
		synctest.Wait()
		if s.Standing().Settings.Token(hash, now()) == nil {
			t.Error("a token that holds was forgotten")
		}
		ahead.Store(int64(365 * 24 * time.Hour))
		time.Sleep(2 * forgetEvery)
		synctest.Wait()
		if s.Standing().Settings.TokenByHash(hash) != nil {
			t.Error("a token that ended was never forgotten")
		}
	})
}

// timed records the times that its callers pass.
type timed struct {
	*memstore.Store
	times []task.Millis
}

func (s *timed) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	s.times = append(s.times, now)
	return s.Store.Transit(ctx, now, steps)
}

func (s *timed) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	s.times = append(s.times, now)
	return s.Store.Configure(ctx, now, edits)
}

func TestChangesAreRecordedByTheGivenClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &timed{Store: memstore.New(memstore.Config{})}
		_, hash := settings.MintToken()
		add(t, s.Store, "doomed", 1)
		configure(t, s.Store, settings.PurgeQueue{Namespace: "default", Name: "doomed"}, settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeRead, Hash: hash})
		at := now().Add(time.Hour)
		uses := []settings.Edit{settings.UseToken{Namespace: settings.AllNamespaces, ID: s.Standing().Settings.Token(hash, at).ID, At: at}}
		run(t, Config{Now: at.Time, Pending: func() []settings.Edit { return uses }}, s)
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if want := []task.Millis{at, at, at}; !slices.Equal(s.times, want) { // the page, the end of the purge, the uses
			t.Errorf("the store got the times %v, want %v", s.times, want)
		}
		if got, err := s.Get(t.Context(), task.Key{Namespace: "default", Name: "doomed-0"}); err != nil || got.FinishedAt != at {
			t.Errorf("cancelled at %v, want %v: %v", got.FinishedAt, at, err)
		}
	})
}
