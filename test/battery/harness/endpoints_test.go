package harness

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// node is a fake node that answers with one status after another, then with
// 201.
type node struct {
	*httptest.Server
	mu       sync.Mutex // guards everything below
	statuses []int
	keys     []string // Idempotency-Key of each call
}

func startNode(t *testing.T, statuses ...int) *node {
	t.Helper()
	n := &node{statuses: statuses}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.keys = append(n.keys, r.Header.Get("Idempotency-Key"))
		status := http.StatusCreated
		if len(n.statuses) > 0 {
			status, n.statuses = n.statuses[0], n.statuses[1:]
		}
		if status == 0 {
			panic(http.ErrAbortHandler) // the reply is lost
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(n.Close)
	return n
}

func (n *node) asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.keys
}

func endpointsOf(t *testing.T, urls ...string) *Endpoints {
	t.Helper()
	ds := &Endpoints{}
	for _, url := range urls {
		ds.List = append(ds.List, newEndpoint(url))
	}
	t.Cleanup(ds.close)
	return ds
}

func TestACreateWithoutAnAnswerIsAskedForAgainUnderItsKey(t *testing.T) {
	a, b := startNode(t, 503, 0), startNode(t, 0, 500)
	ds := endpointsOf(t, a.URL, b.URL)
	ok, err := ds.Create(t.Context(), Task("task", "http://127.0.0.1/", time.Now()))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if keys := slices.Concat(a.asked(), b.asked()); len(keys) != 5 || strings.Join(slices.Compact(keys), "") != "task" {
		t.Errorf("the keys were %v", keys)
	}
}

func TestACreateThatIsRefusedIsNotRepeated(t *testing.T) {
	a := startNode(t, 422)
	if ok, err := endpointsOf(t, a.URL).Create(t.Context(), Task("task", "http://127.0.0.1/", time.Now())); ok || err == nil || len(a.asked()) != 1 {
		t.Errorf("created %v, %v, asked %d times", ok, err, len(a.asked()))
	}
}

// If the first cancel succeeds, the reply to a second cancel only reports that
// the task has finished. It does not show the reply to the first.
func TestACancelAsksOneNodeOnce(t *testing.T) {
	for status, want := range map[int]int{200: 200, 202: 202, 409: 409, 503: 0, 0: 0} {
		a := startNode(t, status)
		gone := httptest.NewServer(nil)
		gone.Close() // no node gets requests there
		if got := endpointsOf(t, gone.URL, a.URL).Cancel(t.Context(), "task"); got != want || len(a.asked()) != 1 {
			t.Errorf("a node that answers %d: %d, asked %d times", status, got, len(a.asked()))
		}
	}
}

func TestAClosedEndpointIsSkipped(t *testing.T) {
	a, b := startNode(t), startNode(t)
	ds := endpointsOf(t, a.URL, b.URL)
	ds.List[0].Closed.Store(true)
	for range 10 {
		if d := ds.Next(); d != ds.List[1] {
			t.Fatal("the closed endpoint was used")
		}
	}
}
