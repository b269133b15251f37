// Package conn is the connection of a client, as the packages client and
// client/admin use it.
package conn

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Package client sets these.
var (
	Of    func(client any) Conn      // the connection of a *client.Client
	Given func(options any) []Option // those in a slice of client.CallOption
)

// Conn sends calls to one server. Its errors are those of package client.
type Conn interface {
	// Do sends a call, repeats it if that is allowed, and decodes the reply.
	Do(ctx context.Context, c *Call) (Reply, error)
	// Open sends a call once and returns a successful reply. The caller must close
	// its body.
	Open(ctx context.Context, c *Call) (*http.Response, error)
	// NoReply returns the error of a call if its reply did not come, or broke off.
	NoReply(c *Call, err error) error
}

// Call is one use of one route.
type Call struct {
	Op     string // verb and name, for errors
	Method string
	Path   string // below the version, escaped; "": the name in Op is not valid
	Query  Params
	Header http.Header
	Send   any    // becomes the body, as JSON; nil: Body is set, or there is none
	Body   []byte // nil: none
	Raw    bool   // the body is not JSON

	Batch string // the verb of the call in a batch; "": it cannot be in one
	Name  string // of the record; "": it has none yet

	Takes   string   // names of the options that the call takes
	Options []Option // those that it was given

	Repeatable bool          // may be applied twice without harm
	Extra      time.Duration // added to the client's Timeout
	Into       any           // target of the decoded reply
}

// Reply is a successful reply without its body.
type Reply struct {
	Status int
	Header http.Header
}

// Option is what a client.CallOption has.
type Option struct {
	Name string // of the function that made it
	// Header or Param is the header or the parameter that has the value. If both
	// are empty, the call reads the option itself.
	Header, Param string
	Value         string
}

// Unknown returns the name of an option that the call does not take, or "".
func (c *Call) Unknown() string {
	for _, o := range c.Options {
		if o != (Option{}) && !strings.Contains(" "+c.Takes+" ", " "+o.Name+" ") {
			return o.Name
		}
	}
	return ""
}

// Conditional reports whether an option is a condition.
func Conditional(options []Option) bool {
	return slices.ContainsFunc(options, func(o Option) bool { return strings.HasPrefix(o.Header, "If-") })
}

// About completes the Op, the Path and the Name of a call about the record with
// that name: the call's own Path comes after the name.
func (c *Call) About(verb, path, name string) *Call {
	c.Op, c.Path, c.Name = verb+" "+name, path+url.PathEscape(name)+c.Path, name
	if name == "" || name == "." || name == ".." { // a server would read it as a part of the path
		c.Path = ""
	}
	return c
}

// Named sends a call about the record with that name: see About.
func Named[T any](ctx context.Context, cn Conn, verb, path, name string, c *Call) (reply *T, got Reply, err error) {
	reply = new(T)
	c.Into = reply
	got, err = cn.Do(ctx, c.About(verb, path, name))
	return OrNil(reply, err), got, err
}

// Get reads the record at a path.
func Get[T any](ctx context.Context, cn Conn, op, path string, query Params) (*T, error) {
	v := new(T)
	_, err := cn.Do(ctx, &Call{Op: op, Method: http.MethodGet, Path: path, Query: query, Repeatable: true, Into: v})
	return OrNil(v, err), err
}

// OrNil returns v, or nil if there is an error.
func OrNil[T any](v *T, err error) *T {
	if err != nil {
		return nil
	}
	return v
}
