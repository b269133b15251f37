package harness

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/foliot/foliot/test/battery/verify"
)

func TestALogThatBreaksAPromiseFails(t *testing.T) {
	start := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	at := func(ms float64) time.Time { return start.Add(time.Duration(ms * float64(time.Millisecond))) }
	tasks := verify.Numbered{Prefix: "a", Count: 3, Due: func(i int) time.Time { return at(float64(100 * (i + 1))) }}
	write := func(lines ...any) string {
		path := filepath.Join(t.TempDir(), "deliveries")
		var b []byte
		for i := 0; i < len(lines); i += 2 {
			b = fmt.Appendf(b, "%s id %d\n", lines[i], at(lines[i+1].(float64)).UnixNano())
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		path  string
		fails bool
	}{
		"all is well": {write("a-0", 101.0, "a-1", 201.0, "a-2", 301.0), false},
		"one lost":    {write("a-0", 101.0, "a-1", 201.0), true},
		"one early":   {write("a-0", 99.0, "a-1", 201.0, "a-2", 301.0), true},
		"one twice":   {write("a-0", 101.0, "a-1", 201.0, "a-2", 301.0, "a-2", 302.0), true},
	} {
		tr := &Run{Out: io.Discard}
		tr.JudgeNumbered(tasks, c.path)
		if tr.Failed != c.fails {
			t.Errorf("%s: failed is %v", name, tr.Failed)
		}
	}
}
