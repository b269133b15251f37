package redis

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// answer is the reply to one request. Its status is 0 if no whole reply came.
type answer struct {
	what   string
	sent   time.Time
	status int
	body   string
}

// quoted returns a as the end of a line of the report, or "" if there is none.
func (a answer) quoted() string {
	if a.status == 0 {
		return ""
	}
	return fmt.Sprintf("; %s: %d %.260s", a.what, a.status, a.body)
}

// ask sends one request, as harness.Client.CallWith does.
func ask(ctx context.Context, c *harness.Client, fields map[string]string, method, path string, body any) answer {
	a := answer{what: method + " " + path, sent: time.Now()}
	if status, reply, err := c.CallWith(ctx, fields, method, path, body); err == nil {
		a.status, a.body = status, string(bytes.TrimSpace(reply))
	}
	return a
}

// askEach sends a request at each tick, and appends the answer to list. list
// must not be read before stop returns. stop waits for the last request.
func askEach(ctx context.Context, every time.Duration, list *[]answer, one func(ctx context.Context, i int) answer) (stop func()) {
	return timing.InBackground(ctx, func(ctx context.Context) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			*list = append(*list, one(context.WithoutCancel(ctx), i))
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
}

// firstUnready returns the first answer of /readyz that has the code, and how long
// after back its request was sent. Without such an answer the status is 0.
func firstUnready(ready []answer, back time.Time, code string) (noticed answer, after time.Duration) {
	for _, a := range ready {
		var p wire.Problem
		if a.status == http.StatusServiceUnavailable && json.Unmarshal([]byte(a.body), &p) == nil && p.Code == code {
			return a, max(a.sent.Sub(back), 0)
		}
	}
	return noticed, 0
}
