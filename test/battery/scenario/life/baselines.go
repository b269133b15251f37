package life

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/redis/rueidis"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// baselines adds the cost of the mechanisms without Foliot. The number of calls
// is the number of tasks in a step.
func (l *life) baselines(ctx context.Context) {
	body := harness.OK(json.Marshal(l.task(verify.Numbered{Prefix: "baseline"}, 0)))
	here := os.Getpid()
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // an error shows at the client
		w.WriteHeader(http.StatusCreated)
	}))
	l.Run.Cleanup(bare.Close)
	l.measure(ctx, "baseline: POST, net/http client and server", l.n, processes{server: here}, func() { l.post(ctx, bare.URL, body) })
	l.measure(ctx, "baseline: POST, net/http client only", l.n, processes{here, l.fast.Cmd.Process.Pid}, func() { l.post(ctx, l.fast.URL(), body) })
	if l.redis != nil {
		l.redisBaselines(ctx)
		return
	}
	db := harness.OK(pebble.Open(l.Path("bare"), &pebble.Options{Logger: quiet{}}))
	l.Run.Cleanup(func() { harness.Check(db.Close()) })
	for _, records := range []int{1, batchSize} {
		l.measure(ctx, fmt.Sprintf("baseline: Pebble, %d in a synced batch", records), l.n, processes{server: here}, func() { l.commit(db, records) })
	}
}

// post sends as many requests as a step has tasks.
func (l *life) post(ctx context.Context, url string, body []byte) {
	client := harness.NewClient(url)
	defer client.Close()
	harness.Check(timing.InParallel(l.n, clients, func(int) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		resp, err := client.HTTP.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return err
	}))
}

// commit writes as many records as a step has tasks.
func (l *life) commit(db *pebble.DB, records int) {
	value := make([]byte, l.recordSize)
	harness.Check(timing.InParallel(l.n/records, clients, func(i int) error {
		b := db.NewBatch()
		for k := range records {
			if err := b.Set(fmt.Appendf(nil, "%d-%010d", records, i*records+k), value, nil); err != nil {
				return err
			}
		}
		return b.Commit(pebble.Sync)
	}))
}

// quiet drops the log of Pebble. A fatal error ends the battery.
type quiet struct{}

func (quiet) Infof(string, ...any)              {}
func (quiet) Errorf(string, ...any)             {}
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// redisBaselines adds the cost of commands. The client pipelines them, as the server's does.
func (l *life) redisBaselines(ctx context.Context) {
	client := harness.OK(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{l.redis.Addr}, DisableCache: true, ForceSingleClient: true}))
	l.Run.Cleanup(client.Close)
	sha := harness.OK(client.Do(ctx, client.B().ScriptLoad().Script("return 1").Build()).ToString())
	value := string(make([]byte, l.recordSize))
	here := processes{server: os.Getpid()}
	for _, c := range []struct {
		name  string
		build func(i int) rueidis.Completed
	}{
		{"baseline: EVALSHA of an empty script", func(int) rueidis.Completed { return client.B().Evalsha().Sha1(sha).Numkeys(0).Build() }},
		{"baseline: SET", func(i int) rueidis.Completed {
			return client.B().Set().Key(fmt.Sprint("baseline-", i)).Value(value).Build()
		}},
	} {
		l.measure(ctx, c.name, l.n, here, func() {
			harness.Check(timing.InParallel(l.n, clients, func(i int) error { return client.Do(ctx, c.build(i)).Error() }))
		})
	}
}
