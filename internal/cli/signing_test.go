package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/webhook"
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
	p, secrets := serveHere(t, "--listen", anyPort, "--store", "memory:"), map[string]string{}
	for _, queue := range []string{"", "billing", "mail"} {
		args := []string{"secret", "create"}
		if queue != "" {
			args = append(args, "--queue", queue)
		}
		secrets[queue] = strings.TrimSpace(p.must(args...))
	}
	for queue, whose := range map[string]string{"billing": "billing", "mail": "mail", "other": ""} {
		p.must("add", hook.URL+"/x", "--in", "0s", "--queue", queue, "-d", "pay 100")
		r := <-arrived
		for receiver, secret := range secrets {
			if _, err := webhook.Verify([]string{secret}, r.header, r.body, webhook.Options{}); (err == nil) != (receiver == whose) {
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
