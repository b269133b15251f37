package sqltask

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Calls at the same time share transactions, and each gets the endings of its own steps. An
// error of one call is that of no other call.
func TestCallsShareTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong := errors.New("wrong")
		var running sync.WaitGroup
		var mu sync.Mutex
		largest := 0
		b := Batches[string, string]{Undid: func(err error) bool { return errors.Is(err, wrong) }, Alone: func(c string) string { return c }, Go: running.Go}
		b.Write = func(_ context.Context, rows []Row, class string) (endings []string, err error) {
			time.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			largest = max(largest, len(rows))
			for _, r := range rows {
				switch {
				case r.Key == "9":
					err = wrong
				case r.Parent == 0:
					endings = append(endings, class+r.Key)
				case rows[r.Parent-1].Key+" spawned" != r.Key:
					t.Errorf("the parent of %s is %s", r.Key, rows[r.Parent-1].Key)
				}
			}
			return endings, err
		}
		var calls sync.WaitGroup
		for i := range 10 {
			calls.Go(func() {
				key := fmt.Sprint(i)
				endings, err := b.Do(t.Context(), []Row{{Key: key}, {Key: key + " spawned", Parent: 1}, {Key: key}}, "ends ")
				want, wantErr := fmt.Sprint([]string{"ends " + key, "ends " + key}), error(nil)
				if i == 9 {
					want, wantErr = "[]", wrong
				}
				if got := fmt.Sprint(endings); got != want && err == nil || !errors.Is(err, wantErr) {
					t.Errorf("call %d: %s, %v", i, got, err)
				}
			})
		}
		calls.Wait()
		running.Wait()
		if largest < 2*3 || len(b.flying) > 0 {
			t.Errorf("at most %d rows in a transaction, and %v run", largest, b.flying)
		}
	})
}

// A COMMIT can wait for hours for a standby. Each call ends with its context, and those that
// wait for others or for a connection do not pile up: their rows are not written later.
func TestACallEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running sync.WaitGroup
		written, standby := 0, make(chan struct{})
		b := Batches[string, string]{Go: running.Go}
		b.Write = func(ctx context.Context, rows []Row, _ string) ([]string, error) {
			select {
			case <-standby:
				written += len(rows)
				return make([]string, len(rows)), nil
			case <-ctx.Done(): // no connection is free
				return nil, ctx.Err()
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		var calls sync.WaitGroup
		for _, n := range []int{MaxRows, 1, 1, 1, 1} { // the first is alone, and two more are under way
			calls.Go(func() {
				if _, err := b.Do(ctx, make([]Row, n), ""); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		calls.Wait()
		for range 2 {
			standby <- struct{}{}
			synctest.Wait()
		}
		running.Wait()
		if written != 2 {
			t.Errorf("%d rows were written", written)
		}
	})
}
