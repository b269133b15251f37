package snippets

import (
	"net"
	"net/http"
	"time"

	"github.com/foliot/foliot/idle"
)

//doc:show http

func newServer(handler http.Handler) (*http.Server, *idle.Group[net.Conn]) {
	conns := idle.New(idle.Config{AllIdle: 2 * time.Minute, MaxAge: time.Hour}, // AllIdle: longer than the proxy in front waits
		func(net.Conn, idle.Reason) idle.Verdict { return idle.Close() })
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	idle.WatchServer(server, conns) // before Serve
	return server, conns
}

//doc:end
