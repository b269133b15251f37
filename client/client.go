package client

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
)

// Client calls one server with the methods of its fields, which are grouped by
// noun. A Client and its fields may be used by many goroutines. The calls of
// operators are in package client/admin.
type Client struct {
	Tasks     Tasks
	Schedules Schedules
	Queues    Queues

	conn *connection
}

// Options configure a client. The zero Options suit a server on loopback that
// has no tokens. New copies the Options, so later changes have no effect.
type Options struct {
	// Token is sent as Authorization: Bearer. Default: no token is sent.
	Token string
	// Namespace selects the namespace for an operator's token, which is valid
	// for all of them, while any other token has one namespace. Default: the
	// token's namespace, or "default".
	Namespace string
	// HTTPClient sends the requests. Set it to use a TLS configuration, a proxy
	// or your own transport. New copies the http.Client but not its transport,
	// and turns redirects off; the Timeout of the http.Client also ends long
	// polls. Default: a client with a transport of its own, whose idle
	// connections Close closes.
	HTTPClient *http.Client
	// Timeout bounds one request, not counting the time that a long poll waits.
	// CancelMatching, RetryMatching and MoveMatching have 30 minutes more, and
	// Backfill has 5, while the context of a call bounds all its requests
	// together. Zero or less means 60s.
	Timeout time.Duration
	// Retry sets how often and how soon a call is repeated. The zero
	// RetryPolicy makes up to 4 requests; Attempts 1 makes no repeats.
	Retry RetryPolicy
	// NoBatching sends each call in a request of its own. By default, calls of
	// Create, Put, Cancel and Touch that are made at once share requests: if four
	// are under way, further ones wait until one has ended, at most 100ms, and go
	// out together. Each keeps its own context, result, error and repeats. Set
	// NoBatching if the transport of HTTPClient uses the contexts of the calls, as
	// one that traces does.
	NoBatching bool
	// UserAgent identifies the program. Default: "foliot-go".
	UserAgent string
}

const (
	defaultTimeout = 60 * time.Second // a server may sync 1000 tasks to a slow disk
	idlePerHost    = 64               // kept open: programs that create tasks have many requests under way
)

// New returns a client for the server at a URL such as http://127.0.0.1:8750,
// with a path if the API is served below one. New sends nothing, and returns an
// error if the URL or the token is invalid.
func New(server string, o Options) (*Client, error) {
	base, err := parseServer(server)
	if err != nil {
		return nil, err
	}
	header, err := o.header()
	if err != nil {
		return nil, err
	}
	cn := &connection{base: base, header: header, timeout: o.Timeout, retry: o.Retry.withDefaults(), batching: !o.NoBatching}
	cn.calls.conn = cn
	if cn.timeout <= 0 {
		cn.timeout = defaultTimeout
	}
	if o.HTTPClient == nil {
		cn.http.Transport, cn.owned = newTransport(), true
	} else {
		cn.http = *o.HTTPClient
	}
	// The API never redirects: a redirect comes from another server.
	cn.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{Tasks{cn}, Schedules{cn}, Queues{cn}, cn}, nil
}

func init() {
	conn.Of = func(c any) conn.Conn { return c.(*Client).conn }
	conn.Given = func(options any) []conn.Option { return given(options.([]CallOption)) }
}

// defaultServer is the server that FromEnv calls if no variable names one.
const defaultServer = "http://127.0.0.1:8750"

// FromEnv returns a client for the server at the URL in FOLIOT_SERVER, by
// default http://127.0.0.1:8750, with the token in FOLIOT_TOKEN and the
// namespace in FOLIOT_NAMESPACE. The command line reads the same variables. The
// other Options have their defaults. Errors: those of New.
func FromEnv() (*Client, error) {
	return New(cmp.Or(os.Getenv("FOLIOT_SERVER"), defaultServer), Options{Token: os.Getenv("FOLIOT_TOKEN"), Namespace: os.Getenv("FOLIOT_NAMESPACE")})
}

// Close closes idle connections, unless Options.HTTPClient was set. The client
// can still be used.
func (c *Client) Close() {
	if c.conn.owned {
		c.conn.http.CloseIdleConnections()
	}
}

func newTransport() *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // a program replaced it
		t = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second}
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = idlePerHost
	return t
}

// parseServer returns the URL that starts every request URL, without a slash at
// its end.
func parseServer(server string) (string, error) {
	u, err := url.Parse(server)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("client: invalid server URL: expected a URL such as http://127.0.0.1:8750")
	case u.User != nil:
		return "", errors.New("client: the server's URL must not have a user name or password: set Options.Token")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("client: the server's URL %q must not have a query or a fragment", server)
	}
	return strings.TrimRight(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), nil
}

func (o Options) header() (http.Header, error) {
	h := http.Header{"User-Agent": {cmp.Or(o.UserAgent, "foliot-go")}}
	if o.Token != "" {
		if strings.ContainsFunc(o.Token, notVisible) {
			return nil, errors.New("client: invalid token: it has a space, a line break or another character that is not allowed")
		}
		h.Set("Authorization", "Bearer "+o.Token)
	}
	if o.Namespace != "" {
		if strings.ContainsFunc(o.Namespace, notVisible) {
			return nil, fmt.Errorf("client: invalid namespace %q", o.Namespace)
		}
		h.Set("Foliot-Namespace", o.Namespace)
	}
	return h, nil
}

func notVisible(r rune) bool { return r <= ' ' || r > '~' }
