package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/webhook"
)

func TestOnlyTheSecretOfAQueueSignsItsCallbacks(t *testing.T) {
	type received struct {
		header http.Header
		body   []byte
	}
	arrived := make(chan received, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- received{r.Header, body}
	}))
	defer hook.Close()
	p, keys := serveHere(t, "--listen", anyPort, "--store", "memory:"), map[string][]byte{}
	for _, queue := range []string{"", "billing", "mail"} {
		args := []string{"secret", "create"}
		if queue != "" {
			args = append(args, "--queue", queue)
		}
		key, err := webhook.ParseSecret(strings.TrimSpace(p.must(args...)))
		fatal.If(t, err)
		keys[queue] = key
	}
	for queue, whose := range map[string]string{"billing": "billing", "mail": "mail", "other": ""} {
		p.must("add", hook.URL+"/x", "--in", "0s", "--queue", queue, "-d", "pay 100")
		r := <-arrived
		for receiver, key := range keys {
			if err := webhook.Verify([][]byte{key}, r.header, r.body, time.Now()); (err == nil) != (receiver == whose) {
				t.Errorf("a callback of the queue %q, at a receiver with the secret of %q: %v", queue, receiver, err)
			}
		}
	}
	shows(t, p.must("secret", "ls"), "the queue billing", "all queues without")
}

func TestTasksMayNotCallLoopbackAfterTheFirstToken(t *testing.T) {
	hook := servertest.NewReceiver(t)
	hook.Release()
	p := serveHere(t, "--listen", anyPort, "--store", "memory:")
	add := []string{"add", hook.URL, "--in", "0s", "--max-attempts", "1", "--wait"}
	p.must(add...)
	t.Setenv("FOLIOT_TOKEN", strings.TrimSpace(p.must("token", "create", "--for", "operator", "--scope", "admin")))
	wants(t, exit.Undelivered, "egress")(p.foliot(add...))
}
