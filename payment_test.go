package foliot_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
)

func TestAPaymentOfThePageIsTriedAgainAfterLongerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tried []time.Time
		results := []error{errors.ErrUnsupported, errors.ErrUnsupported, errors.ErrUnsupported, errBankClosed, nil}
		p := payments{debit: func(context.Context, string, string) error {
			tried = append(tried, time.Now())
			return results[len(tried)-1]
		}}
		if got := p.run(t, 12*time.Hour); got != foliot.StateDelivered || len(tried) != 5 {
			t.Fatalf("the payment is %s after %d attempts", got, len(tried))
		}
		for i, most := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Hour} {
			if wait := tried[i+1].Sub(tried[i]); wait < most/2 || wait > most+time.Second {
				t.Errorf("wait %d takes %v, and not up to %v", i+1, wait, most)
			}
		}
	})
}

func TestAPaymentOfThePageEndsIfTheCardIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tried := 0
		p := payments{debit: func(context.Context, string, string) error { tried++; return errCardRefused }}
		if got := p.run(t, time.Hour); got != foliot.StateDead || tried != 1 {
			t.Errorf("the payment is %s after %d attempts", got, tried)
		}
	})
}

// run creates a payment that is due now, and returns its state after d.
func (p *payments) run(t *testing.T, d time.Duration) foliot.State {
	t.Helper()
	mux := new(foliot.Mux)
	chargeCard.Handle(mux, p.charge)
	node := foliottest.Start(t, mux)
	_, err := chargeCard.In(t.Context(), node, "payment-42", 0, Payment{Order: "42"})
	fatal.If(t, err)
	time.Sleep(d)
	synctest.Wait()
	got, err := node.Get(t.Context(), "payment-42")
	fatal.If(t, err)
	return got.State
}
