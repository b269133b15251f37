package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"
)

//go:embed page.html
var page []byte

// server is a room behind a listener.
type server struct {
	config   config
	room     *room
	listener net.Listener
	http     *http.Server
	ended    chan error // receives the reason why it stopped accepting connections
}

// start serves until stop.
func start(l net.Listener, c config) *server {
	s := &server{config: c, room: newRoom(c), listener: l, ended: make(chan error, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { w.Write(page) })
	mux.HandleFunc("GET /who", s.room.list)
	mux.HandleFunc("GET /chat", s.room.join)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	go func() { s.ended <- s.http.Serve(l) }()
	return s
}

// stop accepts no more clients, sends each client a goodbye, and returns when
// all have left. Shutdown alone would close connections that were just
// accepted, before their first request has a reply. So stop waits before
// Shutdown.
func (s *server) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.lull+s.config.spread+2*s.config.goodbye+10*time.Second)
	defer cancel()
	s.listener.Close()
	<-s.ended
	time.Sleep(s.config.lull)
	err := s.http.Shutdown(ctx) // does not touch WebSockets
	log.Printf("chat: sending a goodbye to %d clients", s.room.clients.Len())
	return errors.Join(err, s.room.empty(ctx))
}

// list writes the connected clients and the time of their silence.
func (r *room) list(w http.ResponseWriter, _ *http.Request) {
	for c, silent := range r.clients.All() {
		fmt.Fprintf(w, "%s, silent for %v\n", c.name, silent.Round(time.Second))
	}
}
