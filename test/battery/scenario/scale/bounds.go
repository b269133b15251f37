package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/verify"
)

// mustRestart restarts the server. The start must be fast, however many tasks
// the server has.
func mustRestart(ctx context.Context, st *harness.Environment) {
	harness.Check(st.Server.Stop(20 * time.Second))
	harness.Check(st.Server.Start())
	took := harness.OK(st.Server.Ready(ctx, 30*time.Second))
	st.Run.Must(took <= 3*time.Second, "restarted and ready in %s, at most 3 s", verify.Millis(took))
}

// mustFit compares the server's memory with its bound.
func mustFit(st *harness.Environment, when string) {
	const promised = 400 << 20
	now, peak := harness.OK2(st.Server.Memory())
	st.Run.Must(peak <= promised, "memory %s: %d MB now, %d MB at most; promised 400", when, now>>20, peak>>20)
}

// mustList pages through some of the list and compares the slowest page with its
// bound.
func mustList(ctx context.Context, st *harness.Environment) {
	const pages, size, promised = 200, 100, 50 * time.Millisecond
	var times []time.Duration
	query := url.Values{"limit": {fmt.Sprint(size)}}
	for range pages {
		began := time.Now()
		status, data := harness.OK2(st.Client.Call(ctx, http.MethodGet, "/tasks?"+query.Encode(), nil))
		took := time.Since(began)
		var page struct {
			Tasks      []wire.Task `json:"tasks"`
			NextCursor string      `json:"next_cursor"`
		}
		if err := json.Unmarshal(data, &page); err != nil || status != http.StatusOK || len(page.Tasks) != size {
			harness.Fatalf("list: status %d, %d tasks: %.200s", status, len(page.Tasks), data)
		}
		times = append(times, took)
		query.Set("cursor", page.NextCursor)
	}
	slices.Sort(times)
	slowest := verify.Percentile(times, 100)
	st.Run.Must(slowest < promised, "%d pages of %d: p50 %s, the slowest took %s, promised under 50 ms", pages, size, verify.Millis(verify.Percentile(times, 50)), verify.Millis(slowest))
}
