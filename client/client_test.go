package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/fatal"
)

const secret = "foliot_0123456789abcdef"

// If the server redirects to another server, the token must not go there, and
// the caller gets an error.
func TestARedirectIsNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s arrived elsewhere, with %v", r.Method, r.URL, r.Header)
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+secret {
				t.Errorf("sent %v", r.Header)
			}
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, status)
		}))
		for _, own := range []*http.Client{nil, {Transport: &http.Transport{}}} {
			c, err := client.New(srv.URL, client.Options{Token: secret, HTTPClient: own})
			fatal.If(t, err)
			var e *client.Error
			if _, err = c.Tasks.Get(t.Context(), "a"); !errors.As(err, &e) || e.Status != status || e.Code != "" || !strings.Contains(err.Error(), "redirects are not followed") {
				t.Errorf("%d: %v", status, err)
			}
			if _, err = c.Tasks.Create(t.Context(), hour("a")); err == nil {
				t.Errorf("%d: no error", status)
			}
			c.Close()
			if own != nil {
				own.CloseIdleConnections()
			}
		}
		srv.Close()
	}
}

func TestNoErrorHoldsTheToken(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/tasks/problem":
			problem(w, 401, "unauthorized")
		case "/v1/tasks/foreign":
			w.WriteHeader(418)
		default:
			panic(http.ErrAbortHandler)
		}
	}))
	defer srv.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	l.Close()
	for _, url := range []string{srv.URL, "http://" + l.Addr().String(), "https" + strings.TrimPrefix(srv.URL, "http"), "http://nowhere.invalid"} {
		c, err := client.New(url, client.Options{Token: secret, Retry: client.RetryPolicy{Attempts: 1}})
		fatal.If(t, err)
		for _, name := range []string{"problem", "foreign", "dropped"} {
			_, err := c.Tasks.Get(t.Context(), name)
			if err == nil || strings.Contains(err.Error(), "0123456789") {
				t.Errorf("%s %s: %v", url, name, err)
			}
			_, err = c.Tasks.Publish(t.Context(), client.Publication{URL: "http://x/?key=in-the-url"})
			if err == nil || strings.Contains(err.Error(), "in-the-url") {
				t.Errorf("%s: the query of a request is in %v", url, err)
			}
		}
		c.Close()
	}
	for _, bad := range []string{secret + "\n", "two " + secret, secret + "é"} {
		if _, err := client.New(srv.URL, client.Options{Token: bad}); err == nil || strings.Contains(err.Error(), "0123456789") {
			t.Errorf("a bad token: %v", err)
		}
	}
}

// A forwarded request must not change its sender or its destination.
func TestAPublicationCannotReplaceTheToken(t *testing.T) {
	for _, token := range []string{"", secret} {
		c := offline(t, client.Options{Token: token, Namespace: "acme"}, func(r *http.Request) (*http.Response, error) {
			want := ""
			if token != "" {
				want = "Bearer " + token
			}
			if got := r.Header.Values("Authorization"); strings.Join(got, "") != want || r.Header.Get("Foliot-Namespace") != "acme" || r.Header.Get("Foliot-Forward-X-Shop") != "7" {
				t.Errorf("sent %v", r.Header)
			}
			return reply(201, nil, `{}`), nil
		})
		_, err := c.Tasks.Publish(t.Context(), client.Publication{URL: "http://x/", Header: http.Header{
			"authorization": {"Bearer other"}, "Authorization": {"Bearer other"}, "foliot-namespace": {"other"}, "x-shop": {"7"},
		}})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestAServersURLIsChecked(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:8750", "ftp://127.0.0.1", "http://", "http://user:word@127.0.0.1", "http://127.0.0.1?a=b", "http://127.0.0.1/#a", "http://%zz"} {
		if c, err := client.New(url, client.Options{}); err == nil || strings.Contains(err.Error(), "word@") {
			t.Errorf("%q: %v, %v", url, c, err)
		}
	}
	if _, err := client.New("http://127.0.0.1", client.Options{Namespace: "a\r\nb"}); err == nil {
		t.Error("a namespace with a line break is taken")
	}
	for _, url := range []string{"http://127.0.0.1/", "http://127.0.0.1/below/it", "http://127.0.0.1/below/it/"} {
		c := must[*client.Client](t)(client.New(url, client.Options{Namespace: "acme", HTTPClient: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if want := strings.TrimSuffix(url, "/") + "/v1/tasks/a@b%2F"; r.URL.String() != want || r.Header.Get("Foliot-Namespace") != "acme" {
				t.Errorf("sent to %s, want %s, with %v", r.URL, want, r.Header)
			}
			return reply(200, nil, `{"name":"a@b"}`), nil
		})}}))
		if _, err := c.Tasks.Get(t.Context(), "a@b/"); err != nil {
			t.Error(err)
		}
	}
}

// endless is the body of a reply that never ends.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += len(p)
	return len(p), nil
}

func TestALimitedPartOfAReplyIsRead(t *testing.T) {
	for _, status := range []int{200, 500} {
		body := &endless{}
		c := offline(t, client.Options{}, func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/problem+json"}}, Body: io.NopCloser(body)}, nil
		})
		if _, err := c.Tasks.Run(t.Context(), "a"); err == nil || body.read > 65<<20 {
			t.Errorf("%d: %d bytes read, %v", status, body.read, err)
		}
	}
}

// A reply that no Foliot server sends is reported as such, and crashes nothing.
func TestStrangeRepliesAreErrors(t *testing.T) {
	for _, body := range []string{"", "<html>", "null]", `[]`, `{"name":1}`, `{"due_at":"noon"}`, `{"delay":"1 day"}`, `{"http":{"body_base64":"%"}}`, `{"retry":{"max_age":"x"}}`, `{"attempts":[{"started_at":"x"}]}`} {
		c := offline(t, client.Options{}, func(*http.Request) (*http.Response, error) { return reply(200, nil, body), nil })
		var e *client.Error
		if _, err := c.Tasks.Get(t.Context(), "a"); !errors.As(err, &e) || !strings.Contains(err.Error(), "is it a Foliot server?") {
			t.Errorf("%q: %v", body, err)
		}
	}
	for _, body := range []string{`{"results":[]}`, `{"results":[{},{}]}`, `{"results":[{"status":201,"task":{"due_at":"x"}},{"status":201,"task":{"due_at":"x"}}]}`, `{"results":{}}`} {
		c := offline(t, client.Options{}, func(*http.Request) (*http.Response, error) { return reply(200, nil, body), nil })
		for _, r := range must[[]client.Result](t)(c.Tasks.CreateMany(t.Context(), []client.Spec{hour("a"), hour("b")})) {
			if r.Err == nil || !client.MaybeApplied(r.Err) {
				t.Errorf("%q: %+v", body, r)
			}
		}
	}
	// A reply of a newer server is accepted.
	c := offline(t, client.Options{}, func(*http.Request) (*http.Response, error) {
		return reply(200, nil, `{"name":"a","state":"resting","mood":["good"],"due_at":"2030-01-01T00:00:00.0000001+01:00","attempts":[{"late_ms":1,"latency_ms":0.1234}]}`), nil
	})
	got, err := c.Tasks.Get(t.Context(), "a")
	if err != nil || got.State != "resting" || got.Attempts[0].Late != time.Millisecond || got.Attempts[0].Latency != 123*time.Microsecond {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAPublicationForwardsTheHeadersOfItsCaller(t *testing.T) {
	c := offline(t, client.Options{Token: secret}, func(r *http.Request) (*http.Response, error) {
		for name, want := range map[string]string{
			"Content-Type": "text/csv", "Foliot-Forward-X-Shop": "7", "Foliot-Forward-User-Agent": "shop/1", "Foliot-Forward-Authorization": "Bearer theirs",
			"Authorization": "Bearer " + secret, "Cookie": "", "Foliot-Forward-Cookie": "", "Foliot-Forward-Connection": "", "Foliot-Forward-Proxy": "", "Foliot-Forward-Foliot-Task": "",
		} {
			if got := strings.Join(r.Header.Values(name), ","); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		return reply(201, nil, `{}`), nil
	})
	_, err := c.Tasks.Publish(t.Context(), client.Publication{URL: "http://x/", Header: http.Header{
		"content-type": {"text/csv"}, "x-shop": {"7"}, "User-Agent": {"shop/1"}, "Authorization": {"Bearer other"}, "Cookie": {"a=b"}, "Connection": {"close"}, "Proxy": {"x"},
		"Foliot-Task": {"x"}, "foliot-forward-authorization": {"Bearer theirs"},
	}})
	if err != nil {
		t.Error(err)
	}
}

// Parallel calls share a context that ends with the error of the first one. The
// outcome of the others must not be written into that error.
func TestAContextsCauseFromAnotherCallIsNotChanged(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	first := &client.Error{Status: http.StatusBadRequest, Code: "bad_name"}
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel(first)
		<-over
	}))
	defer server.Close()
	defer close(over)
	c, err := client.New(server.URL, client.Options{})
	fatal.If(t, err)
	_, err = c.Tasks.Get(ctx, "a")
	if err == nil || !client.MaybeApplied(err) {
		t.Errorf("a call that was sent and not answered: %v, may be done: %v", err, client.MaybeApplied(err))
	}
	if first.MaybeApplied {
		t.Error("the other call's error says now that it may be done")
	}
}
