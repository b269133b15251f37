// Package admin shows and changes a Foliot server itself: tokens, signing
// secrets and namespaces, live data and the audit log, nodes, shards and
// backups. Programs that only create tasks need package client alone.
//
//	c, err := client.New("https://foliot.example:8750", client.Options{Token: token})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	live, err := admin.New(c).Live(ctx)
//
// Most methods need an operator's token. The errors, the retries and the
// conditions are those of package client.
package admin

import (
	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/client/internal/convert"
)

// Client calls one server with the connection of a client.Client. It may be used
// by many goroutines, starts none, and needs no Close of its own.
type Client struct {
	Tokens     Tokens
	Secrets    Secrets
	Namespaces Namespaces

	conn conn.Conn
}

// New returns a Client with the server, the token and the namespace of c. It
// sends nothing.
func New(c *client.Client) *Client {
	cn := conn.Of(c)
	return &Client{Tokens{cn}, Secrets{cn}, Namespaces{cn}, cn}
}

// codec converts the types of this package to those of the API and back.
var codec = convert.New()

// encode returns v as JSON of the API's type W.
func encode[W any](v any) ([]byte, error) { return convert.Encode[W](codec, v) }

// decode reads JSON of the API's type W into v.
func decode[W, T any](data []byte, v *T) error { return convert.Decode[W](codec, data, v) }
