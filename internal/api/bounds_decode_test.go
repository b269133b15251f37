package api_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/wire"
)

// A batch that is too large is refused before it is parsed. A batch of 16 MiB
// costs no more than its bytes, with any content.
func TestAnOversizedBatchIsNotDecoded(t *testing.T) {
	quick.Leave(t, "sends a huge batch")
	const whole = 15 << 20
	keys := func(value string) string {
		var b strings.Builder
		for i := 0; b.Len() < whole; i++ {
			fmt.Fprintf(&b, `%q:%s,`, fmt.Sprintf("%x", i), value)
		}
		return "{" + strings.TrimSuffix(b.String(), ",") + "}"
	}
	for name, test := range map[string]struct{ http, code string }{
		"headers": {`{"url": "http://example.com/", "headers": ` + keys(`""`) + `}`, "too_many"},
		"body":    {`{"url": "http://example.com/", "body": ` + keys(`1`) + `}`, "body_too_large"},
	} {
		s := serve(t)
		batch := `{"tasks": [{"delay": "1h", "http": ` + test.http + `}, {"delay": "1h", "http": {"url": "http://example.com/"}}]}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var done wire.BatchReply
		s.do("POST", "/v1/tasks/batch", batch).want(200, &done)
		runtime.ReadMemStats(&after)
		if len(done.Results) != 2 || done.Results[0].Code != test.code || done.Results[1].Status != 201 {
			t.Errorf("%s: %+v", name, done.Results)
		}
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 128 {
			t.Errorf("%s: %d MB were allocated for a batch of 15 MB", name, mb)
		}
	}
}
