package original

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/redistest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1")) // rueidis closes connections of a cluster seconds later
}

// instant is a whole second in the middle of a minute. The original takes the
// time as an argument, so no test waits.
var instant = time.Date(2026, 11, 22, 3, 4, 30, 0, time.UTC)

// saw logs the result of a test, and compares it with the expected one.
func saw(t *testing.T, got, want string) {
	t.Helper()
	if t.Log(got); got != want {
		t.Errorf("want %s", want)
	}
}

// receiver is a server that the original calls.
type receiver struct {
	url   string
	http  *http.Client
	fails int // the number of first calls that get the status 500

	mu    sync.Mutex
	now   time.Time // as the test passed it
	calls []called
}

type called struct {
	what   string // the task's key, and its body in parentheses
	at     time.Time
	failed bool
}

func receive(t *testing.T) *receiver {
	r := new(receiver)
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url, r.http = server.URL+"/", server.Client()
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	one := called{strings.TrimPrefix(request.URL.Path, "/"), r.now, len(r.calls) < r.fails}
	if len(body) > 0 {
		one.what += "(" + string(body) + ")"
	}
	if r.calls = append(r.calls, one); one.failed {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (r *receiver) setNow(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = now
}

// list returns the calls, sorted, as the page shows them.
func (r *receiver) list(show func(called) string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) == 0 {
		return "called: nothing"
	}
	var texts []string
	for _, one := range slices.SortedStableFunc(slices.Values(r.calls), func(a, b called) int { return strings.Compare(a.what, b.what) }) {
		texts = append(texts, show(one))
	}
	return "called: " + strings.Join(texts, ", ")
}

func (r *receiver) String() string {
	return r.list(func(c called) string {
		if c.failed {
			return c.what + " (replied 500)"
		}
		return c.what
	})
}

// early is String with the time from each call to the due time of its task.
func (r *receiver) early(due map[string]time.Time) string {
	return r.list(func(c called) string {
		switch d := due[c.what].Sub(c.at); {
		case d > 0:
			return fmt.Sprintf("%s %v early", c.what, d)
		case d < 0:
			return fmt.Sprintf("%s %v late", c.what, -d)
		}
		return c.what + " on time"
	})
}

// task returns a task of the original that calls r.
func (r *receiver) task(key string, body ...any) Task {
	one := Task{Key: key, URL: r.url + key, Method: http.MethodGet}
	if body != nil {
		one.Method, one.Body = http.MethodPost, body[0]
	}
	return one
}

// runs makes the scans of a node in the seconds from first to last.
func (r *receiver) runs(t *testing.T, w *Wheel, first, last time.Time) {
	t.Helper()
	for at := first; !at.After(last); at = at.Add(time.Second) {
		r.setNow(at)
		w.Scan(t.Context(), at)
	}
}

// wheel returns a node of the original on the Redis at addrs.
func wheel(t *testing.T, r *receiver, addrs ...string) *Wheel {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: addrs, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return New(client, r.http)
}

func add(t *testing.T, w *Wheel, one Task, due time.Time) {
	t.Helper()
	if err := w.Add(t.Context(), one, due); err != nil {
		t.Fatal(err)
	}
}

func cancel(t *testing.T, w *Wheel, key string, due time.Time) {
	t.Helper()
	if err := w.Cancel(t.Context(), key, due); err != nil {
		t.Fatal(err)
	}
}

// command sends a command to a server.
func command(t *testing.T, addr string, words ...string) string {
	t.Helper()
	reply, err := redistest.Command(t.Context(), addr, words...)
	if err != nil || strings.HasPrefix(reply, "-") {
		t.Fatalf("%v: %s, %v", words, reply, err)
	}
	return reply
}
