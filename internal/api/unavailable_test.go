package api_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// ill is a store with failing changes. It may report an error of the whole
// store.
type ill struct {
	*memstore.Store
	why, whole error
}

func (l ill) Transit(context.Context, task.Millis, []store.Step) ([]store.Reply, error) {
	return nil, l.why
}

func (l ill) Standing() store.Standing {
	st := l.Store.Standing()
	st.Err = l.whole
	return st
}

// serveIll returns the API over a store whose changes fail, and its log.
func serveIll(t *testing.T, why, whole error) (*service, *bytes.Buffer) {
	log, kept := new(bytes.Buffer), memstore.New(memstore.Config{})
	return &service{T: t, Server: api.New(api.Config{Log: slog.New(slog.NewTextHandler(log, nil))}, ill{kept, why, whole}), store: kept}, log
}

func TestAStoreThatCannotBeReachedIsUnavailableAndNotLogged(t *testing.T) {
	away := fmt.Errorf("%w: the Redis at 192.0.2.1:6379 is secret", task.ErrUnavailable)
	s, log := serveIll(t, away, away)
	for _, r := range []reply{s.do("POST", "/v1/tasks", hour), s.do("GET", "/readyz", "")} {
		if r.status != 503 || r.header.Get("Retry-After") == "" || !strings.Contains(string(r.body), `"unavailable"`) ||
			!strings.Contains(string(r.body), "cannot be reached") || strings.Contains(string(r.body), "192.0.2.1") {
			t.Errorf("%d %v\n%s", r.status, r.header, r.body)
		}
	}
	if log.Len() > 0 {
		t.Errorf("each request is logged:\n%s", log)
	}
}

func TestAFullStoreIsLoggedSparsely(t *testing.T) {
	s, log := serveIll(t, task.ErrFull, nil)
	for range 20 {
		s.do("POST", "/v1/tasks", hour).problem(503, "capacity", "")
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines:\n%s", n, log)
	}
}

// unsure is a store that makes changes and cannot confirm their durability.
type unsure struct{ *memstore.Store }

func (l unsure) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	if _, err := l.Store.Transit(ctx, now, steps); err != nil {
		return nil, err
	}
	return nil, &task.ShortError{Wanted: 1, Within: time.Second}
}

func TestAnUnconfirmedCreateReportsHowToRepeatIt(t *testing.T) {
	const nameless = `{"delay":"1h","http":{"url":"https://example.com/"}}`
	for want, headers := range map[int][]string{2: nil, 1: {"Idempotency-Key: k"}} {
		s := serve(t)
		s.Server = api.New(api.Config{Log: slog.New(slog.DiscardHandler)}, unsure{s.store})
		for range 2 {
			p := s.do("POST", "/v1/tasks", nameless, headers...).problem(503, "durability_not_met", "")
			if !strings.Contains(p.Detail, "a create without a name or an Idempotency-Key may be made twice") {
				t.Errorf("it says %s", p.Detail)
			}
		}
		if n := len(s.all()); n != want {
			t.Errorf("%d tasks with the headers %q", n, headers)
		}
	}
}

func TestAChangeThatIsNotDurableSaysHowManyReplicasConfirmedIt(t *testing.T) {
	s, _ := serveIll(t, fmt.Errorf("the Redis at 192.0.2.1:6379: %w", &task.ShortError{Wanted: 2, Within: 2 * time.Second}), nil)
	var p wire.Problem
	r := s.do("POST", "/v1/tasks", hour).want(503, &p)
	if p.Code != "durability_not_met" || !strings.Contains(p.Detail, "0 of 2 replicas confirmed it within 2s: repeat the request") || strings.Contains(string(r.body), "192.0.2.1") {
		t.Errorf("%s", r.body)
	}
}

// frozen is a store of several nodes whose changes wait until their context ends.
type frozen struct {
	*memstore.Store
	cluster
}

type cluster struct{ store.Cluster }

func (l frozen) Transit(ctx context.Context, _ task.Millis, _ []store.Step) ([]store.Reply, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A commit can wait for hours for a standby. The client gets a reply before the server
// would close its connection.
func TestAChangeThatIsNotConfirmedGetsAReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, kept := time.Now(), memstore.New(memstore.Config{})
		s := &service{T: t, Server: api.New(api.Config{}, frozen{Store: kept}), store: kept}
		s.do("POST", "/v1/tasks", hour).problem(503, "unavailable", "")
		if took := time.Since(began); took >= time.Minute {
			t.Errorf("the reply came after %v", took)
		}
	})
}
