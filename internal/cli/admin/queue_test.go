package admin

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/fatal"
)

// answer is an http.RoundTripper.
type answer func(*http.Request) *http.Response

func (f answer) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// The clock of this machine may be wrong, so the server must count the time.
func TestAPauseLastsForATimeOfTheServer(t *testing.T) {
	var sent string
	server := answer(func(r *http.Request) *http.Response {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"name":"mail","paused":true}`))}
	})
	api, err := client.New("http://foliot.test", client.Options{HTTPClient: &http.Client{Transport: server}})
	fatal.If(t, err)
	for d, want := range map[time.Duration]string{10 * time.Minute: `{"for":"10m"}`, 0: `{}`} {
		c := queuePauseCmd{Queue: "mail", For: d}
		fatal.If(t, c.Run(t.Context(), &console.Console{Out: io.Discard}, api))
		if sent != want {
			t.Errorf("a pause for %v sends %s, want %s", d, sent, want)
		}
	}
}

func TestAQueueIsShownWithoutUnitsThatAreZero(t *testing.T) {
	var out strings.Builder
	q := &client.Queue{Name: "mail", QueueSettings: client.QueueSettings{Timeout: time.Minute, KeepFinished: 2 * time.Hour, Retry: client.Retry{MaxAge: client.Duration(time.Hour)}}}
	fatal.If(t, printQueue(&console.Console{Out: &out}, q))
	for _, want := range []string{"timeout\t1m\n", "keep finished\t2h\n", "max age\t1h\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %q", want, out.String())
		}
	}
}
