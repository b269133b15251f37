package receiver

import (
	"net/http"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/metric"
)

func TestLostEarlyAndDoubledCallsAreCounted(t *testing.T) {
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	old := r.Expect(1)
	url := r.Expect(4)
	for _, u := range []string{old + "0", url + "0", url + "1", url + "1", url + "2"} {
		reply, err := http.Post(u, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		if reply.StatusCode != http.StatusOK {
			t.Fatal(reply.Status)
		}
	}
	if err := r.Wait(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	due := []time.Time{time.Now().Add(-time.Second), time.Now().Add(-time.Second), time.Now().Add(time.Hour), time.Now()}
	v := metric.Values{}
	r.Judge(func(i int) time.Time { return due[i] }, v)
	if v[metric.Fired] != 3 || v[metric.Lost] != 1 || v[metric.Early] != 1 || v[metric.Doubled] != 1 || v[metric.P50Ms] < 500 || v[metric.MaxMs] < 500 {
		t.Errorf("%v", v)
	}
}
