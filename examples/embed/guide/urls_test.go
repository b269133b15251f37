package guide

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
)

func TestTheProgramSendsTheRequestInAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, err := openWithCallbacks(t.Context(), foliottest.Store(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer node.Close()
		if err := callBack(t.Context(), node, "https://shop.example/"); err != nil {
			t.Fatal(err)
		}
		i, err := node.Get(t.Context(), "call-shop")
		if err != nil || i.State != foliot.StateScheduled || time.Until(i.Due) < time.Hour {
			t.Errorf("%+v, %v", i, err)
		}
	})
}
