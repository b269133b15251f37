package api_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/wire"
)

// liveService serves live data with a number that grows with each sample.
func liveService(t *testing.T) (s *service, taken *atomic.Int64) {
	taken = new(atomic.Int64)
	return serve(t, func(c *api.Config) {
		c.Engine = servertest.Engine{OnLive: func() wire.Live {
			return wire.Live{At: wire.FormatTime(time.Now()), Running: int(taken.Add(1)), Queues: []wire.LiveQueue{{Namespace: "acme", Queue: "q"}, {Namespace: "other", Queue: "q"}}}
		}}
	}), taken
}

// stream reads /v1/live as a stream until ctx or the stream ends. It returns the
// names and the data of the events.
func (s *service) stream(ctx context.Context, headers ...string) (names []string, samples []wire.Live) {
	s.Helper()
	r := httptest.NewRequest("GET", "http://localhost/v1/live", nil).WithContext(ctx)
	r.Header.Set("Accept", "text/event-stream")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" {
		s.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	for event := range strings.SplitSeq(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n") {
		name, data := "", event
		if strings.HasPrefix(event, "event: ") {
			name, data, _ = strings.Cut(strings.TrimPrefix(event, "event: "), "\n")
		}
		var live wire.Live
		if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &live); err != nil {
			s.Errorf("%q: %v", event, err)
		}
		names, samples = append(names, name), append(samples, live)
	}
	return names, samples
}

func TestAStreamHasEachSampleOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, taken := liveService(t)
		ctx, leave := context.WithTimeout(t.Context(), 9500*time.Millisecond)
		defer leave()
		var viewing sync.WaitGroup
		for range 50 {
			viewing.Go(func() {
				names, samples := s.stream(ctx)
				if strings.Join(names, "") != "" || len(samples) != 10 {
					t.Errorf("%d events: %q", len(samples), names)
				}
				for i, l := range samples {
					if l.Running != i+1 || l.Now == "" || len(l.Queues) != 2 {
						t.Errorf("event %d: %+v", i, l)
					}
				}
			})
		}
		viewing.Wait()
		if n := taken.Load(); n != 10 {
			t.Errorf("%d samples were taken for 50 viewers in 9.5 s", n)
		}
	})
}

func TestAStreamEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := liveService(t)
		s.namespace("acme")
		operator := s.token("*", settings.ScopeAdmin)
		made := decoded[wire.Token](s.do("POST", "/v1/tokens", `{"scope": "read", "namespace": "acme"}`, operator), 201)
		go func() {
			time.Sleep(2500 * time.Millisecond)
			s.do("DELETE", "/v1/tokens/"+made.ID, "", operator).want(200, nil)
		}()
		began := time.Now()
		names, samples := s.stream(t.Context(), "Authorization: Bearer "+made.Token)
		if took := time.Since(began); strings.Join(names, ",") != ",,,problem" || took > 3100*time.Millisecond {
			t.Errorf("after %v: %q", took, names)
		}
		if l := samples[0]; l.Running != 0 || len(l.Queues) != 1 || l.Queues[0].Namespace != "acme" {
			t.Errorf("a namespace's token sees %+v", l)
		}
		s.do("GET", "/v1/live", "", "Accept: text/event-stream", "Authorization: Bearer "+made.Token).problem(401, "token_invalid", "Authorization")
	})
}

func TestAHeadRequestIsNoStream(t *testing.T) {
	s, _ := liveService(t)
	s.do("HEAD", "/v1/live", "", "Accept: text/event-stream").want(200, nil)
}

func TestAStreamEndsWhenTheServerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := liveService(t)
		time.AfterFunc(1500*time.Millisecond, s.Stop)
		if names, samples := s.stream(t.Context()); len(names) != 2 || len(samples) != 2 {
			t.Errorf("%q", names)
		}
	})
}
