// Command chat is a WebSocket chat that pings silent clients, drops those that do not answer, and survives a reload.
//
//	go build -C examples -o ../bin/chat ./chat && bin/chat
//	                  open http://127.0.0.1:8081 in two windows; it logs its PID
//	curl 127.0.0.1:8081/who
//	                  who is here, and silent for how long
//	kill -HUP PID     a new process, of the program as it is now, takes over the listener; the old one says goodbye to its
//	                  clients, spread over a while so that they do not come back all at once, and ends
//	kill -TERM PID    the goodbye alone
//
// A reload is a process that hands its listener on, and not a listener that is opened again: so nobody is refused meanwhile, and a
// program that does not start changes nothing. Where a supervisor ends the whole when the first process ends, as a container does, end
// it with SIGTERM behind a load balancer instead: to the clients that is the same.
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
	if err := run(parse()); err != nil {
		log.Fatalln("chat:", err)
	}
}

// config is what the flags say.
type config struct {
	listen     string
	ping, pong time.Duration
	missed     int

	lull, spread, goodbye time.Duration
}

func parse() (c config) {
	flags := flag.NewFlagSet("chat", flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: chat [flags]\n\nA chat for browsers. SIGHUP reloads it, SIGTERM and Ctrl-C end it.")
		flags.PrintDefaults()
	}
	flags.StringVar(&c.listen, "listen", "127.0.0.1:8081", "the `address` to listen on")
	flags.DurationVar(&c.ping, "ping", 30*time.Second, "ping a client from which nothing came for this `time`, 0: never; proxies between must wait longer")
	flags.DurationVar(&c.pong, "pong", 10*time.Second, "a pong must come within this `time`")
	flags.IntVar(&c.missed, "missed", 2, "drop a client that has missed this `number` of pings in a row")
	flags.DurationVar(&c.lull, "lull", 500*time.Millisecond, "when it ends or reloads, answer requests for this `time` after the last connection was accepted")
	flags.DurationVar(&c.spread, "spread", 10*time.Second, "when it ends or reloads, spread the goodbyes over this `time`")
	flags.DurationVar(&c.goodbye, "goodbye", 5*time.Second, "close a client that has not answered its goodbye after this `time`")
	command.Parse(flags)
	return c
}

func run(c config) error {
	reload, stop := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)

	l, ready, err := takeOver()
	if l == nil && err == nil {
		l, err = net.Listen("tcp", c.listen)
	}
	if err != nil {
		return err
	}
	s := start(l, c)
	log.Printf("chat: process %d listens on http://%s", os.Getpid(), l.Addr())
	if err := ready(); err != nil { // who handed the listener on goes on then, and ends this process
		return err
	}
	for {
		select {
		case err := <-s.ended:
			return err
		case <-stop:
			return s.stop(context.Background())
		case <-reload:
			if err := handOn(l); err != nil {
				log.Printf("chat: no reload: %v", err)
				continue
			}
			return s.stop(context.Background())
		}
	}
}
