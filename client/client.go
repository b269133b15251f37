package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client speaks to one server. Its fields are what the server knows, one noun each. A Client and its parts may be
// used by many goroutines; it starts none of its own.
type Client struct {
	Tasks      Tasks
	Schedules  Schedules
	Queues     Queues
	Tokens     Tokens
	Secrets    Secrets
	Namespaces Namespaces
	Admin      Admin

	conn *conn
}

// Options are what a client may be told. The zero Options suit a server on loopback that has no tokens.
type Options struct {
	// Token is sent as Authorization: Bearer. Default: none is.
	Token string
	// Namespace is where to act, for a token that is good for all of them; any other has its own. Default: the token's,
	// or "default".
	Namespace string
	// HTTPClient sends the requests: for a TLS configuration, a proxy or a transport of one's own. It is copied, its redirects
	// are switched off, and its own Timeout cuts long polls short. Default: one with a transport of its own, which Close ends.
	HTTPClient *http.Client
	// Timeout bounds one request, beside the time that a long poll waits: whatever it is, the context given to a call bounds
	// all its requests together. Default: 60s.
	Timeout time.Duration
	// Retry says how often and how soon a call is repeated.
	Retry RetryPolicy
	// UserAgent names the program. Default: "foliot-go".
	UserAgent string
}

const (
	defaultTimeout = 60 * time.Second // a server that syncs a thousand tasks to a slow disk needs some
	idlePerHost    = 64               // connections kept: programs that create tasks have many requests under way
)

// New returns a client of the server at a URL such as http://127.0.0.1:8750, which may have a path that the API stands
// below. Nothing is sent yet. Errors: the URL, or the token, cannot be one.
func New(server string, o Options) (*Client, error) {
	base, err := parseServer(server)
	if err != nil {
		return nil, err
	}
	header, err := o.header()
	if err != nil {
		return nil, err
	}
	cn := &conn{base: base, header: header, timeout: o.Timeout, retry: o.Retry.withDefaults()}
	if cn.timeout <= 0 {
		cn.timeout = defaultTimeout
	}
	if o.HTTPClient == nil {
		cn.http.Transport, cn.owned = newTransport(), true
	} else {
		cn.http = *o.HTTPClient
	}
	// The API redirects nobody: whoever does is another server.
	cn.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{Tasks{cn}, Schedules{cn}, Queues{cn}, Tokens{cn}, Secrets{cn}, Namespaces{cn}, Admin{cn}, cn}, nil
}

// Close ends the connections that are idle, unless they are those of Options.HTTPClient. The client can still be used.
func (c *Client) Close() {
	if c.conn.owned {
		c.conn.http.CloseIdleConnections()
	}
}

func newTransport() *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // a program put something else there
		t = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second}
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = idlePerHost
	return t
}

// parseServer returns the URL that every path begins with.
func parseServer(server string) (string, error) {
	u, err := url.Parse(server)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("client: this is no URL of a server; it looks like http://127.0.0.1:8750")
	case u.User != nil:
		return "", errors.New("client: a server's URL carries no user name or password: give a token")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("client: the server's URL %q has a query or a fragment", server)
	}
	return strings.TrimRight(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), nil
}

// header returns what each request carries.
func (o Options) header() (http.Header, error) {
	agent := o.UserAgent
	if agent == "" {
		agent = "foliot-go"
	}
	h := http.Header{"User-Agent": {agent}}
	if o.Token != "" {
		if strings.ContainsFunc(o.Token, notVisible) {
			return nil, errors.New("client: the token has a space, a line break or another character that no token has")
		}
		h.Set("Authorization", "Bearer "+o.Token)
	}
	if o.Namespace != "" {
		if strings.ContainsFunc(o.Namespace, notVisible) {
			return nil, fmt.Errorf("client: %q is no name of a namespace", o.Namespace)
		}
		h.Set("Foliot-Namespace", o.Namespace)
	}
	return h, nil
}

func notVisible(r rune) bool { return r <= ' ' || r > '~' }
