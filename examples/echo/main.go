// Command echo is a TCP echo server that closes connections that were not used
// for a while.
//
//	go run -C examples ./echo -idle 1m
//	nc 127.0.0.1 7007
//
// If descriptors run out, it closes the idlest connections to make room:
//
//	(ulimit -n 40; go run -C examples ./echo)
//	for i in $(seq 50); do (exec 3<>/dev/tcp/127.0.0.1/7007; sleep 5) & done     (in bash)
//
// Only the listener changes: idle.NewListener watches the accepted connections,
// and each read and write is a touch. Here io.Copy serves each connection. On
// Linux, the kernel copies all bytes in one splice. The splice counts as use.
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatalln("echo:", err)
	}
}

func run(ctx context.Context) error {
	flags := flag.NewFlagSet("echo", flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: echo [flags]\n\nEchoes its input and closes silent connections. Press Ctrl-C to end it.")
		flags.PrintDefaults()
	}
	listen := flags.String("listen", "127.0.0.1:7007", "the `address` to listen on")
	silence := flags.Duration("idle", time.Minute, "close a connection without reads and writes for this `time`; 0: never")
	first := flags.Duration("first", 10*time.Second, "close a connection that has sent nothing at all after this `time`; 0: use the limit of -idle")
	_ = flags.Parse(os.Args[1:]) // ends the program if it fails
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	log.Printf("echo: listening on %s", l.Addr())
	return serve(ctx, l, limits{idle: *silence, first: *first})
}
