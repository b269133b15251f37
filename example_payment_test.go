package foliot_test

import (
	"context"
	"errors"
	"time"

	"github.com/foliot/foliot"
)

// Payment has the arguments of a payment.
type Payment struct{ Order string }

var (
	errCardRefused = errors.New("the bank refuses the card")
	errBankClosed  = errors.New("the bank is closed for the night")
)

// payments charge the cards of customers.
type payments struct {
	debit func(ctx context.Context, key, order string) error // at the bank
}

//doc:show payment

var chargeCard = foliot.NewKind[Payment]("charge-card",
	foliot.Backoff(time.Minute, 6*time.Hour),
	foliot.MaxAge(3*24*time.Hour),
)

func (p *payments) charge(ctx context.Context, t *foliot.Task[Payment]) error {
	err := p.debit(ctx, t.ID, t.Args.Order) // by the id, the bank recognises a repeat
	switch {
	case errors.Is(err, errCardRefused):
		return foliot.Dead(err) // no attempt follows
	case errors.Is(err, errBankClosed):
		return foliot.RetryIn(8*time.Hour, err)
	}
	return err // nil: it is paid; otherwise the next attempt comes after a longer wait
}

//doc:end

// A payment is tried again after waits that get longer.
func Example_payment() {
	var p payments // with the client of the bank
	chargeCard.Handle(new(foliot.Mux), p.charge)
}
