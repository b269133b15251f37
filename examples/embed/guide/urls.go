package guide

import (
	"context"
	"time"

	"github.com/foliot/foliot"
)

//doc:show urls

func openWithCallbacks(ctx context.Context, store foliot.Store, mux *foliot.Mux) (*foliot.Node, error) {
	return foliot.Open(ctx, store, mux, foliot.Options{URLs: foliot.URLs("10.0.0.0/8")})
}

func callBack(ctx context.Context, timers foliot.Scheduler, url string) error {
	request := foliot.Request{URL: url, JSON: Order{ID: "42"}}
	_, err := foliot.HTTP.Put(ctx, timers, "call-shop", foliot.In(time.Hour), request)
	return err
}

//doc:end
