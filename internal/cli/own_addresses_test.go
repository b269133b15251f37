package cli

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest"
)

// The test allows every range to tasks, and calls the store, its replica, the
// API of the other node, and the collector.
func TestNoTaskReachesAPartOfTheServer(t *testing.T) {
	quick.Leave(t, "starts many servers")
	r := redistest.New(t)
	replica := redistest.NewReplica(t, r.Addr)
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	hook := servertest.NewReceiver(t)
	hook.Release()
	args := []string{"--egress-allow", "0.0.0.0/0", "--egress-allow", "::/0"}
	a := redisNode(t, "redis://"+r.Addr, args...)
	b := redisNode(t, "redis://"+strings.Replace(r.Addr, "127.0.0.1", "localhost", 1), args...)
	until := time.Now().Add(servertest.Patience)
	for _, c := range []struct{ name, addr string }{
		{"store", r.Addr},
		{"replica", replica.Addr},
		{"collector", strings.TrimPrefix(collector.URL, "http://")},
		{"api-a", strings.TrimPrefix(a.url, "http://")},
		{"api-b", strings.TrimPrefix(b.url, "http://")},
	} {
		host, port, err := net.SplitHostPort(c.addr)
		fatal.If(t, err)
		for i, spelling := range []string{host, "[::ffff:" + host + "]", "localhost"} {
			for try := 0; ; try++ { // a discovered address is closed up to a second later
				name := fmt.Sprint(c.name, i, "-", try)
				a.must("add", "http://"+spelling+":"+port+"/v1/tasks", "--in", "0s", "--name", name, "--max-attempts", "1")
				_, _, _ = a.foliot("get", name, "--wait")
				got := a.task(name)
				if got.State == "dead" && len(got.Attempts) == 1 && strings.Contains(got.Attempts[0].Error, "egress") {
					break
				}
				if time.Now().After(until) {
					t.Errorf("%s at %s:%s is %s: %+v", c.name, spelling, port, got.State, got.Attempts)
					break
				}
			}
		}
	}
	a.must("add", hook.URL, "--in", "0s", "--name", "elsewhere")
	if name := hook.Next(t); name != "elsewhere" {
		t.Errorf("%q arrived", name)
	}
}
