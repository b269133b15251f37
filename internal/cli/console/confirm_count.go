package console

import (
	"context"
	"errors"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/wire"
)

// ConfirmCount asks whether n tasks may be changed, and calls act with the
// confirmed number. If the number of matching tasks changes before the answer,
// it asks again, so that no more tasks change than the user confirmed. Above
// wire.MaxExpect the question says that more tasks may match, and act gets no
// option.
func ConfirmCount[T any](ctx context.Context, con *Console, n int, question func(tasks string) string, act func(expect []client.CallOption) (T, error)) (T, error) {
	for {
		text, expect := "%s?", []client.CallOption{client.Expect(n)}
		if n > wire.MaxExpect { // the server does not compare larger numbers
			text, expect = "%s, and all others that match when you answer?", nil
		}
		if err := con.Confirm(ctx, text, question(wording.Count(n, "task"))); err != nil {
			var none T
			return none, err
		}
		reply, err := act(expect)
		found, differs := OtherCount(err)
		if !differs {
			return reply, err
		}
		con.Notef("the number of tasks has changed")
		n = found
	}
}

// OtherCount reports whether err means that the number of matching tasks is not
// the expected one, and returns the number that matches.
func OtherCount(err error) (int, bool) {
	var differs *client.Error
	if !errors.Is(err, client.ErrCount) || !errors.As(err, &differs) {
		return 0, false
	}
	return differs.Count, true
}
