// Command client is a shop that closes orders that are not paid in time. It has
// no timers and no database of due times: a Foliot server waits for it.
//
//	foliot serve
//	go run -C examples ./client -grace 10s
//	curl -X POST http://127.0.0.1:7010/orders           an order
//	curl -X POST http://127.0.0.1:7010/orders/1/paid    paid in time: its task is cancelled
//	curl http://127.0.0.1:7010/orders/1                 the state of the order
//
// See shop.go: the task of an order is created once, even if the create is
// repeated. The task is cancelled when it is no longer needed. A callback that
// comes twice or late does no harm. docs/webhooks.md shows how to verify that a
// callback is from Foliot.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/foliot/foliot/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatalln("client:", err)
	}
}

func run(ctx context.Context) error {
	flags := flag.NewFlagSet("client", flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: client [flags]\n\nA shop that lets Foliot close unpaid orders. Press Ctrl-C to end it. FOLIOT_TOKEN is the access token.")
		flags.PrintDefaults()
	}
	server := flags.String("server", "http://127.0.0.1:8750", "the `URL` of the Foliot server")
	listen := flags.String("listen", "127.0.0.1:7010", "the `address` to listen on")
	grace := flags.Duration("grace", 30*time.Minute, "how long an order may stay unpaid")
	_ = flags.Parse(os.Args[1:]) // ends the program if it fails
	foliot, err := client.New(*server, client.Options{Token: os.Getenv("FOLIOT_TOKEN")})
	if err != nil {
		return err
	}
	defer foliot.Close()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	log.Printf("client: listening on %s", l.Addr())
	return serve(ctx, l, newShop(foliot, "http://"+l.Addr().String(), *grace))
}

// serve answers until ctx ends, and waits for requests that are under way.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		return errors.Join(err, srv.Close())
	}
	return nil
}
