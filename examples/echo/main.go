// Command echo is a TCP echo server that closes the connections over which nothing came or went for a while.
//
//	go run ./echo -listen 127.0.0.1:7007 -idle 1m     (in examples/)
//	nc 127.0.0.1 7007
//
// The listener is all it takes: what idle.Listener accepts is watched, and touched by each read and write. Here each connection
// is served by io.Copy, which on Linux is one splice in the kernel from the first byte to the last; it counts as use all the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		log.Fatalln("echo:", err)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("echo", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: echo [flags]\n\nSends back what it gets; closes what is silent. Interrupt it to end it.")
		flags.PrintDefaults()
	}
	listen := flags.String("listen", "127.0.0.1:7007", "the `address` to listen on")
	silence := flags.Duration("idle", time.Minute, "close a connection over which nothing came or went for this `time`")
	first := flags.Duration("first", 10*time.Second, "close a connection that has sent nothing at all after this `time`; 0: no limit of its own")
	if err := flags.Parse(args); err != nil {
		return err
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	log.Printf("echo: listening on %s", l.Addr())
	return serve(ctx, l, limits{idle: *silence, first: *first})
}
