package cli

import (
	"encoding/json"
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
	"github.com/foliot/foliot/internal/wire"
)

// startServer runs a server with its tasks in memory, and returns its URL.
func startServer(t *testing.T) (b *background, url string) {
	t.Helper()
	b = start(t, "serve", "--listen", anyPort, "--log-level", "error", "--store", "memory:")
	url = urlPattern.FindString(b.line(t, b.stdout))
	for !strings.HasPrefix(b.line(t, b.stdout), "try, ") {
	}
	return b, url
}

// post posts body with a token, unless that is "", and decodes the reply into
// to.
func post(t *testing.T, url, token, body string, to any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	fatal.If(t, err)
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	fatal.If(t, err)
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	reply, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		t.Fatalf("POST %s: %d %s, %v", url, resp.StatusCode, reply, err)
	}
	fatal.If(t, json.Unmarshal(reply, to))
}

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
	b, url := startServer(t)
	cli, keys := &session{t: t, server: url}, map[string][]byte{}
	for _, queue := range []string{"", "billing", "mail"} {
		args := []string{"secret", "create"}
		if queue != "" {
			args = append(args, "--queue", queue)
		}
		out, errs, code := cli.run("", args...)
		key, err := webhook.ParseSecret(strings.TrimSpace(out))
		if code != exit.OK || err != nil {
			t.Fatalf("%v: %d %s", args, code, errs)
		}
		keys[queue] = key
	}
	for queue, whose := range map[string]string{"billing": "billing", "mail": "mail", "other": ""} {
		var made wire.Task
		post(t, url+"/v1/tasks", "", `{"delay":"0s","queue":"`+queue+`","http":{"url":"`+hook.URL+`/x","body":"pay 100"}}`, &made)
		r := <-arrived
		for receiver, key := range keys {
			if err := webhook.Verify([][]byte{key}, r.header, r.body, time.Now()); (err == nil) != (receiver == whose) {
				t.Errorf("a callback of the queue %q, at a receiver with the secret of %q: %v", queue, receiver, err)
			}
		}
	}
	if out, _, _ := cli.run("", "secret", "ls"); !strings.Contains(out, "the queue billing") || !strings.Contains(out, "all queues without") {
		t.Errorf("%s", out)
	}
	b.stop()
	<-b.code
}

func TestTasksMayNotCallLoopbackAfterTheFirstToken(t *testing.T) {
	hook := servertest.NewReceiver(t)
	hook.Release()
	b, url := startServer(t)
	asked := `{"delay":"0s","retry":{"max_attempts":1},"http":{"url":"` + hook.URL + `/x"}}`
	ends := func(token string) wire.Task {
		t.Helper()
		var made, done wire.Task
		post(t, url+"/v1/tasks", token, asked, &made)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/tasks/"+made.Name+"?wait=10s", nil)
		fatal.If(t, err)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		fatal.If(t, err)
		defer resp.Body.Close()
		defer http.DefaultClient.CloseIdleConnections()
		fatal.If(t, json.NewDecoder(resp.Body).Decode(&done))
		return done
	}
	if done := ends(""); done.State != "delivered" {
		t.Errorf("without a token: %s (%s)", done.State, done.Reason)
	}
	var token wire.Token
	post(t, url+"/v1/tokens", "", `{"scope":"admin","namespace":"*"}`, &token)
	if done := ends(token.Token); done.State != "dead" || done.Reason != "egress_denied" {
		t.Errorf("with a token: %s (%s)", done.State, done.Reason)
	}
	b.stop()
	<-b.code
}
