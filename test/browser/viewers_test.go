package browser

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	viewers = flag.Int("viewers", 0, "the number of viewers of TestViewersDoNotDelayTasks; 0 skips it")
	store   = flag.String("store", "", "the URL of an empty Redis for TestViewersDoNotDelayTasks; default: an embedded store")
)

// TestViewersDoNotDelayTasks prints the lateness of 1,000 tasks a second, without
// viewers and with them, in turn. A viewer sends the requests of the page Now.
func TestViewersDoNotDelayTasks(t *testing.T) {
	if *viewers == 0 {
		t.Skip("-viewers is 0")
	}
	s := newServer(t)
	if *store != "" {
		s.stop()
		s.args = []string{"serve", "-o", "json", "--listen", "127.0.0.1:0", "--store", *store, "--egress-allow", "127.0.0.0/8", "--log-level", "error"}
		s.start()
	}
	s.seedMany("http://127.0.0.1:9", 100_000, time.Hour)
	for range 3 {
		without := s.lateness()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range *viewers {
			all.Go(func() { s.view(ctx) })
		}
		with := s.lateness()
		cancel()
		all.Wait()
		t.Logf("p50 %.1f ms, p99 %.1f ms without viewers; p50 %.1f ms, p99 %.1f ms with %d", without.P50, without.P99, with.P50, with.P99, *viewers)
		if with.P99 > 2*without.P99+5 {
			t.Errorf("%d viewers raise the p99 from %.1f to %.1f ms", *viewers, without.P99, with.P99)
		}
	}
}

type lateness struct{ P50, P99 float64 } // in milliseconds

// lateness delivers 1,000 tasks a second for ten seconds.
func (s *server) lateness() (l lateness) {
	s.t.Helper()
	const tasks = 10_000
	late := make(chan float64, 2*tasks)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if due, err := time.Parse(time.RFC3339Nano, r.Header.Get("Foliot-Due-At")); err == nil {
			late <- float64(time.Since(due).Microseconds()) / 1000
		}
	}))
	defer receiver.Close()
	var lines strings.Builder
	for i, first := 0, time.Now().Add(5*time.Second); i < tasks; i++ {
		fmt.Fprintf(&lines, "{\"at\": %q, \"http\": {\"url\": %q}}\n", first.Add(time.Duration(i)*time.Millisecond).UTC().Format(time.RFC3339Nano), receiver.URL)
	}
	seed := exec.Command(binary, "import", "-", "--server", s.url)
	seed.Env = append(os.Environ(), "FOLIOT_TOKEN="+s.token)
	seed.Stdin = strings.NewReader(lines.String())
	if out, err := seed.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	all := make([]float64, tasks)
	for i := range all {
		select {
		case all[i] = <-late:
		case <-time.After(time.Minute):
			s.t.Fatalf("%d of %d callbacks came", i, tasks)
		}
	}
	slices.Sort(all)
	return lateness{all[tasks/2], all[tasks*99/100]}
}

// view sends the requests of the page Now until ctx ends.
func (s *server) view(ctx context.Context) {
	var all sync.WaitGroup
	get := func(path string, every time.Duration) {
		tick := time.NewTicker(max(every, time.Millisecond))
		defer tick.Stop()
		for ctx.Err() == nil {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
			if err != nil {
				return
			}
			if every == 0 {
				r.Header.Set("Accept", "text/event-stream")
			}
			if reply, err := http.DefaultClient.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, reply.Body)
				_ = reply.Body.Close()
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}
	for path, every := range map[string]time.Duration{
		"/v1/live": 0, "/v1/due?rings=5": time.Second, "/v1/due?until=6144ms&step=64ms": time.Second,
		"/v1/attempts?outcome=failed&limit=20": 5 * time.Second, "/v1/attempts?outcome=failed&limit=200": 5 * time.Second,
		"/v1/history": 10 * time.Second, "/v1/queues?limit=200": 10 * time.Second, "/v1/cluster": 10 * time.Second,
	} {
		all.Go(func() { get(path, every) })
	}
	all.Wait()
}
