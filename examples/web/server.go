package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/foliot/foliot/idle"
)

// limits are the time limits of connections and requests.
type limits struct {
	idle, age time.Duration // of a connection
	header    time.Duration // for the header of a request
	stall     time.Duration // between two pieces of an upload
}

const (
	grace  = 20 * time.Second       // for requests under way when the server ends
	spread = 500 * time.Millisecond // time over which it then closes idle connections
)

// serve answers requests until ctx ends, and finishes those under way. It
// closes l.
func serve(ctx context.Context, l net.Listener, limit limits) error {
	conns := idle.New(idle.Config{AllIdle: cmp.Or(limit.idle, idle.Never), MaxAge: limit.age},
		func(c net.Conn, why idle.Reason) idle.Verdict {
			log.Printf("web: closing %s: %v", c.RemoteAddr(), why)
			return idle.Close
		})
	defer conns.Close()
	server := &http.Server{
		Handler:           routes(limit),
		ReadHeaderTimeout: limit.header, // from the accept for the first request: this closes clients that send nothing
	}
	idle.WatchServer(server, conns)

	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	l.Close()
	<-ended // the error only reports that l is closed
	return errors.Join(conns.Drain(finish, spread), server.Shutdown(finish))
}

func routes(limit limits) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello,", r.RemoteAddr)
	})
	mux.HandleFunc("GET /slow", slow)
	mux.HandleFunc("POST /upload", func(w http.ResponseWriter, r *http.Request) { upload(w, r, limit.stall) })
	return mux
}

// slow replies after the requested time: until then the connection is busy, not
// idle.
func slow(w http.ResponseWriter, r *http.Request) {
	d, err := time.ParseDuration(r.FormValue("for"))
	if err != nil || d > time.Minute {
		http.Error(w, "for must be a duration of up to 1m, such as 5s", http.StatusBadRequest)
		return
	}
	select {
	case <-time.After(d):
		fmt.Fprintln(w, "here you are")
	case <-r.Context().Done():
	}
}

// upload counts the bytes of a body. Each piece has its own deadline: an upload
// may take long, but must not stall.
func upload(w http.ResponseWriter, r *http.Request, stall time.Duration) {
	control := http.NewResponseController(w)
	piece := make([]byte, 32<<10)
	total := 0
	for {
		if err := control.SetReadDeadline(time.Now().Add(stall)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		n, err := r.Body.Read(piece)
		total += n
		var e net.Error
		switch {
		case err == nil:
		case errors.As(err, &e) && e.Timeout():
			http.Error(w, fmt.Sprintf("no data came for %v, after %d bytes", stall, total), http.StatusRequestTimeout)
			return
		default: // the end, usually io.EOF
			fmt.Fprintln(w, total, "bytes")
			return
		}
	}
}
