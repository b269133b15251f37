package admin_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/admin"
	"github.com/foliot/foliot/client"
	clientadmin "github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/remote"
	"github.com/foliot/foliot/webhook"
)

// received is a request as a receiver got it.
type received struct {
	method, name, body, contentType, color string
	signed                                 error // nil: the signature is right
}

func TestAProgramSendsTheSignedRequestsOfItsTasks(t *testing.T) {
	secrets, got := make([]string, 1), make(chan received, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- received{
			r.Method, r.Header.Get("Foliot-Task"), string(body), r.Header.Get("Content-Type"), r.Header.Get("X-Color"),
			errOf(webhook.Verify(secrets, r.Header, body, webhook.Options{})),
		}
	}))
	t.Cleanup(receiver.Close)
	n := foliottest.StartWith(t, nil, foliot.Options{URLs: foliot.URLs("127.0.0.0/8"), Grace: -1})
	server := httptest.NewServer(admin.New(n, func(*http.Request) admin.Access { return admin.Admin }))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{})
	fatal.If(t, err)
	secret, err := clientadmin.New(c).Secrets.Create(t.Context(), clientadmin.SecretSpec{})
	fatal.If(t, err)
	secrets[0] = secret.Secret
	for name, s := range map[string]foliot.Scheduler{"node": n, "remote": remote.New(c)} {
		for _, r := range []struct {
			request foliot.Request
			want    received
		}{
			{foliot.Request{URL: receiver.URL}, received{method: "POST"}},
			{foliot.Request{URL: receiver.URL, Method: "PUT", JSON: map[string]int{"order": 42}, Headers: map[string]string{"X-Color": "red"}}, received{method: "PUT", body: `{"order":42}`, contentType: "application/json", color: "red"}},
			{foliot.Request{URL: receiver.URL, Body: []byte{0xff, 0}}, received{method: "POST", body: "\xff\x00", contentType: "application/octet-stream"}},
			{foliot.Request{URL: receiver.URL, Body: []byte(` {"a": 1, "a": 2}\n`)}, received{method: "POST", body: ` {"a": 1, "a": 2}\n`, contentType: "application/octet-stream"}},
		} {
			fatal.If(t, errOf(foliot.HTTP.Put(t.Context(), s, name, foliot.In(0), r.request)))
			r.want.name = name
			if have := <-got; have != r.want {
				t.Errorf("%s: %+v arrived, want %+v", name, have, r.want)
			}
		}
		fatal.If(t, foliot.HTTP.Schedule(t.Context(), s, name+"-each", foliot.Every(time.Hour), foliot.Request{URL: receiver.URL}))
		fatal.If(t, errOf(c.Schedules.Trigger(t.Context(), name+"-each")))
		if have := <-got; have.signed != nil || have.method != "POST" {
			t.Errorf("%s: the schedule sent %+v", name, have)
		}
	}
}
