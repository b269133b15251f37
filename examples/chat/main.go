// Command chat is a WebSocket chat that pings silent clients, closes those that
// do not answer, and survives a reload.
//
//	go build -C examples -o ../bin/chat ./chat && bin/chat
//	                  open http://127.0.0.1:8081 in two windows; it logs its PID
//	curl 127.0.0.1:8081/who
//	                  the connected clients, and the time of their silence
//	kill -HUP PID     a new process takes over the listener; the old one sends its clients a goodbye and ends.
//	                  It spreads the goodbyes over a while, so that not all clients return at once
//	kill -TERM PID    send the goodbyes and end, without a new process
//
// In a reload, the old process passes its open listener to a new process. So no
// client is refused, and a program that fails to start changes nothing. A
// container ends when its first process ends. So in a container behind a load
// balancer, send SIGTERM instead: clients see no difference.
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

// config has the values of the flags.
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
	flags.DurationVar(&c.ping, "ping", 30*time.Second, "ping a client that has sent nothing for this `time`; 0: never. Proxies in front must have a longer timeout")
	flags.DurationVar(&c.pong, "pong", 10*time.Second, "wait for a pong for this `time`")
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
	if err := ready(); err != nil { // on an error, the old process continues and ends this one
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
