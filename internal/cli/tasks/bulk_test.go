package tasks

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/wire"
)

// Above a million tasks the server does not compare the number, so the question
// must not promise it.
func TestTheQuestionSaysIfMoreTasksMayChangeThanItNames(t *testing.T) {
	for _, c := range []struct {
		count  int
		expect bool // the change after the answer is only for that number
	}{{wire.MaxExpect, true}, {wire.MaxExpect + 1, false}} {
		var asked bytes.Buffer
		con := console.New(strings.NewReader("y\n"), io.Discard, &asked, false)
		con.CanAsk = true
		calls := 0
		act := func(_ context.Context, _ client.Filter, opts ...client.CallOption) (client.BulkResult, error) {
			if calls++; calls == 1 {
				return client.BulkResult{}, &client.Error{Code: "count_differs", Count: c.count}
			}
			if (len(opts) > 0) != c.expect || c.expect && opts[0] != client.Expect(c.count) {
				t.Errorf("%d tasks: the change expects %v", c.count, opts)
			}
			return client.BulkResult{}, nil
		}
		if _, err := withConfirmation(con, act, "cancel")(t.Context(), client.Filter{}); err != nil || calls != 2 {
			t.Errorf("%d tasks: %d calls, %v", c.count, calls, err)
		}
		if warned := strings.Contains(asked.String(), "all others that match when you answer"); warned == c.expect {
			t.Errorf("%d tasks: it asked %q", c.count, asked.String())
		}
	}
}
