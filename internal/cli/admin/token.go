package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

// Token has the commands of foliot token.
type Token struct {
	Create   tokenCreateCmd   `cmd:"" help:"Create an access token. It is shown only once."`
	Generate tokenGenerateCmd `cmd:"" help:"Print a token for foliot serve --bootstrap-token-file. No server knows it yet."`
	Ls       tokenLsCmd       `cmd:"" aliases:"list" help:"List tokens: ids, scopes and uses, without the tokens themselves."`
	Revoke   tokenRevokeCmd   `cmd:"" aliases:"delete,rm" help:"Revoke tokens at once."`
}

type tokenCreateCmd struct {
	Scope   string        `default:"write" enum:"read,write,admin" placeholder:"SCOPE" help:"read: see tasks and queues. write: change tasks too. admin: change queues, tokens and secrets too (default: write)."`
	For     string        `placeholder:"NAMESPACE" help:"The namespace of the token; operator: all namespaces and the server itself (default: the namespace of the request)."`
	Label   string        `placeholder:"TEXT" help:"A label to recognise the token."`
	Expires time.Duration `placeholder:"DURATION" help:"How long the token is valid, at most as long as the token that creates it (default: as long as that token, or until it is revoked)."`
	Data    string        `placeholder:"DIR" help:"Write the token into this data directory, while no server uses the directory. Use it for the first token of a server that will listen beyond loopback."`
}

// operatorWord means all namespaces on the command line. The API uses *, which
// shells expand.
const operatorWord = "operator"

func (tokenCreateCmd) Help() string {
	return `Prints only the token on standard output. Keep it: the server stores only a hash and cannot show the token again.

As soon as a token exists, every request needs one, also on loopback. From then on, tasks may not call loopback, waiting tasks
included, unless --egress-allow permits it.

Create the first token on a server that listens on loopback, with --data in the data directory of a stopped server, or with
foliot token generate and foliot serve --bootstrap-token-file. The first token must be an operator's of scope admin, because
only such a token can create tokens for all namespaces.

Examples:

    (umask 077; foliot token create --data ./foliot-data --for operator --scope admin > operator.token)
    foliot token create --scope write --label 'shop, production' --expires 2160h
    FOLIOT_TOKEN_FILE=operator.token foliot token create --for acme --scope write`
}

func (c *tokenCreateCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if c.Expires < 0 {
		return usage.Errorf("--expires", "%v is negative", c.Expires)
	}
	if c.Data != "" {
		return c.offline(ctx, con)
	}
	namespace := c.For
	if namespace == operatorWord {
		namespace = admin.AllNamespaces
	}
	made, err := admin.New(api).Tokens.Create(ctx, admin.TokenSpec{Scope: admin.Scope(c.Scope), Namespace: namespace, Label: c.Label, ExpiresIn: c.Expires})
	if err != nil {
		return err
	}
	return printToken(con, *made, made.Parent == "") // without a parent, the request had no token
}

// printToken prints a new token. For the first token of a server it also prints
// the consequences.
func printToken(con *console.Console, made admin.Token, first bool) error {
	if err := con.Resultf(made, "%s", made.Token); err != nil {
		return err
	}
	if !con.JSON {
		con.Notef("%s, scope %s, %s; its id is %s", holder(made.Namespace), made.Scope, lifetime(made.ExpiresAt), made.ID)
	}
	if first {
		con.Notef("this is the first token: from now on, every request needs a token. Pass it with FOLIOT_TOKEN_FILE or --token-file")
		con.Notef("from now on, tasks that call this server's machine die, waiting tasks too, unless `foliot serve --egress-allow` opens the address, such as 127.0.0.0/8")
	}
	return nil
}

// withoutData is the remedy if the store has no data directory.
const withoutData = "make a token with `(umask 077; foliot token generate > FILE)`, and pass it to each server with --bootstrap-token-file FILE"

// offline creates the token in a data directory that no server has open.
func (c *tokenCreateCmd) offline(ctx context.Context, con *console.Console) (err error) {
	dir, err := config.LocalDir("--data", c.Data)
	if err == nil {
		err = flags.CheckStore(withoutData)
	}
	if err == nil {
		err = fileaccess.CloseDataDir("--data", dir)
	}
	if err != nil {
		return err
	}
	store, err := pebblestore.Open(dir, pebblestore.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fileaccess.Placed("--data", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	scope, _ := settings.ParseScope(c.Scope) // kong has checked the word
	token, hash := settings.MintToken()
	e := settings.AddToken{Namespace: c.For, Scope: scope, Label: c.Label, Hash: hash}
	switch c.For {
	case "":
		e.Namespace = task.DefaultNamespace
	case operatorWord:
		e.Namespace = settings.AllNamespaces
	}
	e.First = !store.Standing().Settings.Secured()
	now := task.CeilMillis(time.Now())
	if c.Expires > 0 {
		e.ExpiresAt = now.Add(c.Expires)
	}
	replies, err := store.Configure(settings.WithActor(ctx, settings.Actor{By: "foliot token create --data"}), now, []settings.Edit{e})
	if err != nil {
		return err
	}
	switch err := replies[0].Err; {
	case errors.Is(err, settings.ErrFirstToken):
		return usage.Errorf("--for", "the first token must be an operator's, because otherwise no token could manage the server: pass --for operator --scope admin")
	case err != nil:
		return fmt.Errorf("create a token: %w", err)
	}
	made := admin.Token{ID: e.Target().Name, Namespace: e.Namespace, Scope: admin.Scope(c.Scope), Label: c.Label, State: "active", CreatedAt: now.Time(), ExpiresAt: timeOf(e.ExpiresAt), Token: token}
	if err := printToken(con, made, e.First); err != nil {
		return err
	}
	if !store.Standing().Settings.Managed(now) {
		con.Notef("no valid operator's token of scope admin exists, so no token can manage the server: create one with --for operator --scope admin")
	}
	return nil
}

// timeOf returns m as a time. For 0, which means never, it is the zero time.
func timeOf(m task.Millis) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return m.Time()
}

func holder(namespace string) string {
	if namespace == admin.AllNamespaces {
		return "an operator's token"
	}
	return "a token for the namespace " + namespace
}

func lifetime(expires time.Time) string {
	if expires.IsZero() {
		return "valid until it is revoked"
	}
	return "valid until " + wording.Instant(expires)
}

type tokenGenerateCmd struct{}

func (tokenGenerateCmd) Help() string {
	return `Calls no server. Pass the token to a new server as a file: it becomes the first token of the server, an operator's token of
scope admin. Containers get the file as a mounted secret.

Examples:

    (umask 077; foliot token generate > operator.token)
    foliot serve --listen 0.0.0.0:8750 --tls-cert cert.pem --tls-key key.pem --bootstrap-token-file operator.token`
}

func (tokenGenerateCmd) Run(con *console.Console) error {
	token, _ := settings.MintToken()
	reply := struct {
		Token string `json:"token"`
	}{token}
	return con.Resultf(reply, "%s", token)
}

type tokenLsCmd struct{}

func (tokenLsCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	heading := []string{"ID", "NAMESPACE", "SCOPE", "STATE", "CREATED", "EXPIRES", "LAST USED", "PARENT", "LABEL"}
	return console.List(con, heading, admin.New(api).Tokens.List(ctx), func(t *admin.Token) []string {
		return []string{t.ID, forValue(t.Namespace), string(t.Scope), t.State, wording.Instant(t.CreatedAt), wording.InstantOr(t.ExpiresAt, "never"), wording.InstantOr(t.LastUsedAt, "never"), cmp.Or(t.Parent, "-"), t.Label}
	})
}

// forValue returns the value of --for that creates such a token.
func forValue(namespace string) string {
	if namespace == admin.AllNamespaces {
		return operatorWord
	}
	return namespace
}

type tokenRevokeCmd struct {
	IDs      []string `arg:"" name:"id" help:"The ids of the tokens, as foliot token ls shows them."`
	Children bool     `help:"Also revoke all tokens that were created with them, directly or indirectly."`
	Yes      bool     `short:"y" help:"Do not ask for confirmation before the last operator's token of scope admin is revoked."`
}

func (tokenRevokeCmd) Help() string {
	return `When the command returns, every server of the store refuses the token. The token stays in the list as long as the audit log keeps entries, so
that the ids in the log can be looked up. Tokens that were created with it, its children, stay valid, so that a token can be
replaced. If the token leaked, pass --children to revoke them too.

A server that had a token stays closed to requests without one, even if its last token is revoked. Without an operator's token
of scope admin, the server cannot be managed. So the last such token is revoked only after a confirmation, or with --yes. While
the server is stopped, foliot token create --data creates another one, unless the store is a Redis or PostgreSQL.

To rotate a token: create a new one, pass it to its users, check in foliot token ls that the old one is not used any more, and
revoke the old one.

Examples:

    foliot token revoke 3f29a1c05b7d8e64
    foliot token revoke 3f29a1c05b7d8e64 --children`
}

func (c *tokenRevokeCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	return con.ForEachName(ctx, c.IDs, func(id string) error {
		t, err := admin.New(api).Tokens.Revoke(ctx, id, c.options()...)
		if errors.Is(err, client.ErrLastToken) {
			t, err = c.revokeLast(ctx, con, api, id)
		}
		if err != nil {
			return err
		}
		err = con.Resultf(t, "revoked %s", id)
		if t.ActiveChildren > 0 && !con.JSON {
			con.Notef("%d tokens that were created with it are still valid: if it leaked, revoke it again with --children", t.ActiveChildren)
		}
		return errors.Join(err, exit.Applied(t.Unconfirmed))
	})
}

// revokeLast revokes the last token that can manage the server, after a
// confirmation.
func (c *tokenRevokeCmd) revokeLast(ctx context.Context, con *console.Console, api *client.Client, id string) (*admin.Token, error) {
	if !c.Yes {
		err := con.Confirm(ctx, "revoke %s, the last valid operator's token of scope admin? Then no token can manage the server. With a data directory, you can stop the server and create another with `foliot token create --data`. With a Redis or PostgreSQL this is final.", id)
		if err != nil {
			return nil, err
		}
	}
	return admin.New(api).Tokens.Revoke(ctx, id, append(c.options(), client.Force())...)
}

func (c *tokenRevokeCmd) options() []client.CallOption {
	if c.Children {
		return []client.CallOption{client.Children()}
	}
	return nil
}
