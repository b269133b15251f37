// Command web is an HTTP server that closes unused kept connections, and renews
// old ones.
//
//	go run -C examples ./web -idle 2m
//	curl '127.0.0.1:8080/slow?for=5s'
//	curl --data-binary @go.sum 127.0.0.1:8080/upload
//
// idle.WatchServer follows the server's ConnState: a connection is busy from the
// first byte of a request to the last byte of its response, and idle between
// requests. The server's own deadlines stay in force. Here one limits the header
// of a request, and another the silence within an upload.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/foliot/foliot/examples/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatalln("web:", err)
	}
}

func run(ctx context.Context) error {
	flags := flag.NewFlagSet("web", flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), `usage: web [flags]

Answers GET /, GET /slow?for=5s and POST /upload. Press Ctrl-C to end it: it finishes the requests under way.`)
		flags.PrintDefaults()
	}
	listen := flags.String("listen", "127.0.0.1:8080", "the `address` to listen on")
	var limit limits
	flags.DurationVar(&limit.idle, "idle", 2*time.Minute,
		"close a connection without a request for this `time`; 0: never. Behind a proxy or load balancer, use a longer time than its idle timeout")
	flags.DurationVar(&limit.age, "age", time.Hour, "close a connection that is older than this `time` after its request, so that clients connect to other servers too; 0: never")
	flags.DurationVar(&limit.header, "header", 10*time.Second, "the header of a request must arrive within this `time`; 0: no limit")
	flags.DurationVar(&limit.stall, "stall", 30*time.Second, "an upload may be silent for this `time`")
	command.Parse(flags)
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	log.Printf("web: listening on http://%s", l.Addr())
	return serve(ctx, l, limit)
}
