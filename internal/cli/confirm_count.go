package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/wire"
)

// confirmCount asks whether n tasks may be changed, and calls act with the
// confirmed number. If the number of matching tasks changes before the answer,
// it asks again, so that no more tasks change than the user confirmed. Above
// wire.MaxExpect the question says that more tasks may match, and act gets nil.
func confirmCount[T any](ctx context.Context, con *console, n int, question func(tasks string) string, act func(expect *int) (T, error)) (T, error) {
	for {
		text, expect := "%s?", &n
		if n > wire.MaxExpect { // the server does not compare larger numbers
			text, expect = "%s, and all others that match when you answer?", nil
		}
		if err := con.confirm(ctx, text, question(tasksWord(n))); err != nil {
			var none T
			return none, err
		}
		reply, err := act(expect)
		found, differs := otherCount(err)
		if !differs {
			return reply, err
		}
		con.notef("the number of tasks has changed")
		n = found
	}
}

// otherCount reports whether err means that the number of matching tasks is not
// the expected one, and returns the number that matches.
func otherCount(err error) (int, bool) {
	var differs *client.Error
	if !errors.Is(err, client.ErrCount) || !errors.As(err, &differs) {
		return 0, false
	}
	return differs.Count, true
}

// tasksWord returns "1 task" or "2 tasks".
func tasksWord(n int) string {
	if n == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", n)
}
