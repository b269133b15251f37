package search

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
)

func TestADocumentIsIndexedOnceAfterItsLastChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var indexed atomic.Int32
		mux := new(foliot.Mux)
		Handle(mux, func(context.Context, string) error { indexed.Add(1); return nil })
		node := foliottest.Start(t, mux)
		for range 100 { // changes, each a second after the one before
			if err := Changed(t.Context(), node, "42"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := indexed.Load(); n != 0 {
			t.Errorf("it was indexed %d times during the changes", n)
		}
		time.Sleep(Quiet)
		synctest.Wait()
		if n := indexed.Load(); n != 1 {
			t.Errorf("it was indexed %d times", n)
		}
	})
}
