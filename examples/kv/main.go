// Command kv is a small key-value server with a line protocol. It learns from
// the kernel when a connection was last used.
//
//	go run -C examples ./kv -idle 5m
//	nc 127.0.0.1 6380
//	SET greeting hello, world
//	GET greeting
//
// It has no touches and no wrapper. With Activity: idle.Kernel, when a timeout
// may have passed, the group reads from the kernel the time since the last byte
// was received or sent. This needs TCP on Linux. On other systems the command
// ends with an error.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
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
		log.Fatalln("kv:", err)
	}
}

func run(ctx context.Context) error {
	flags := flag.NewFlagSet("kv", flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), `usage: kv [flags]

Answers PING, SET key value, GET key, DEL key and QUIT, one command in each line. Keeps all data in memory. Press Ctrl-C to end it.`)
		flags.PrintDefaults()
	}
	address := flags.String("listen", "127.0.0.1:6380", "the `address` to listen on")
	silence := flags.Duration("idle", 5*time.Minute, "close a connection that has received and sent nothing for this `time`; 0: never")
	command.Parse(flags)
	l, err := listen(ctx, *address)
	if err != nil {
		return err
	}
	log.Printf("kv: listening on %s", l.Addr())
	return serve(ctx, l, *silence)
}
