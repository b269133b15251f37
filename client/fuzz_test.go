package client_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
)

// Any input that is accepted is written again so that it reads the same.
func FuzzJSONRoundTrip(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","delay":"1h0m0s","http":{"url":"http://x/","body":{"a": 1}},"retry":{"max_attempts":0,"max_age":"0s"},"labels":{"a":"b"}}`,
		`{"name":"a","at":"2030-01-01T00:00:00.0001+01:00","http":{"url":"","body":"text","headers":{}},"on_dead":"","expire_after":"0s","id":"1","state":"held","attempts":[{"latency_ms":0.1,"late_ms":-1}]}`,
		`{"http":{"body_base64":"AP8="},"due_at":"2030-01-01T00:00:00Z","finished_at":"9999-12-31T23:59:59.999Z","version":18446744073709551615}`,
		`{"http":{"body":null},"retry":{"max_attempts":-1,"min_backoff":"-1ns"},"expire_after":"-1ns","on_dead":"nobody"}`,
		`{"cron":"0 9 * * *","timezone":"UTC","missed":"skip","paused":true,"task":{"http":{"url":"http://x/","body":"text"}},"name":"a","next_at":"2030-01-01T00:00:00Z","last_skipped":{"from":"2030-01-01T00:00:00Z","until":"2030-01-01T00:00:00Z","why":"overlap"}}`,
		`{"name":"a","work":{"kind":"close-order","args":{"order":  42}},"waits_for":{"reason":"rate","until":"2030-01-01T00:00:00.000Z","detail":"d"}}`,
		`{"every":"90s","task":{"work":{"kind":"close-order","args":["<"]}},"http":{"body":1},"queue":"a"}`,
		`{"every":"90s","catchup_window":"0s","task":{"delay":"1s","http":{"url":""}},"at":"2030-01-01T00:00:00Z","local":"2030-01-01T01:00:00.5+01:00"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		roundTrip[client.Task](t, data)
		roundTrip[client.Spec](t, data)
		roundTrip[client.Queue](t, data)
		roundTrip[admin.Live](t, data)
		roundTrip[client.Schedule](t, data)
		roundTrip[client.Instant](t, data)
	})
}

func roundTrip[T any](t *testing.T, data []byte) {
	var first, second T
	if json.Unmarshal(data, &first) != nil {
		return
	}
	written, err := json.Marshal(first)
	if err != nil {
		return // some accepted values, such as a year after 9999, cannot be written
	}
	if err := json.Unmarshal(written, &second); err != nil {
		t.Fatalf("%s is written as %s, which is refused: %v", data, written, err)
	}
	again, err := json.Marshal(second)
	if err != nil || string(again) != string(written) {
		t.Errorf("%s is written as %s, and then as %s, %v\n%s", data, written, again, err,
			cmp.Diff(first, second, cmp.AllowUnexported(client.Body{}, client.DeadNotice{}), cmpopts.IgnoreUnexported(client.Queue{})))
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"3", "-1", "99999999999999999999", "Fri, 31 Dec 1999 23:59:59 GMT", "soon", "0x10", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		c := offline(t, client.Options{Retry: client.RetryPolicy{Attempts: 1}}, func(*http.Request) (*http.Response, error) { return busy(value), nil })
		var e *client.Error
		if _, err := c.Tasks.Get(t.Context(), "a"); !errors.As(err, &e) || e.RetryAfter < 0 {
			t.Errorf("%q: %v", value, err)
		}
	})
}
