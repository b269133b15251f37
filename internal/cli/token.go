package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Make an access token; it is shown once."`
	Ls     tokenLsCmd     `cmd:"" help:"List tokens: what is known of them, not themselves."`
	Revoke tokenRevokeCmd `cmd:"" help:"End tokens, at once."`
}

type tokenCreateCmd struct {
	Scope   string        `default:"write" enum:"read,write,admin" placeholder:"SCOPE" help:"read: see tasks and queues. write: change tasks too. admin: change queues, tokens and secrets too (default: write)."`
	For     string        `placeholder:"NAMESPACE" help:"Whom it is for; operator: good for all namespaces, and for what belongs to the server (default: the namespace of the request)."`
	Label   string        `placeholder:"TEXT" help:"To know it by."`
	Expires time.Duration `placeholder:"DURATION" help:"How long it is good, no longer than the token that makes it (default: as long as that one, or until it is revoked)."`
	Data    string        `placeholder:"DIR" help:"Write it into this data directory, while no server runs on it: the first token of a server that is to listen beyond loopback."`
}

// operatorWord is how the command line names all namespaces: * means something to shells.
const operatorWord = "operator"

// Help shows examples below the usage line.
func (tokenCreateCmd) Help() string {
	return `Prints the token, and nothing else, on standard output: keep it, it cannot be shown again. The server keeps a hash of it.

As soon as there is one token every request needs one, on loopback too, and tasks may call loopback no more, those that wait included (unless
--egress-allow says so). The first one is made on a server that listens on loopback, or
with --data in the directory of a server that does not run; a server on a Redis has none, so there it is the former. It should be an operator's of
scope admin: only that makes more of them for all.

Examples:

    (umask 077; foliot token create --data ./foliot-data --for operator --scope admin > operator.token)
    foliot token create --scope write --label 'shop, production' --expires 2160h
    FOLIOT_TOKEN_FILE=operator.token foliot token create --for acme --scope write`
}

// Run makes a token.
func (c *tokenCreateCmd) Run(ctx context.Context, con *console, api *client.Client, parsed *kong.Context) error {
	if c.Expires < 0 {
		return usage.Errorf("--expires", "%v is negative", c.Expires)
	}
	if c.Data != "" {
		return c.offline(ctx, con, parsed)
	}
	namespace := c.For
	if namespace == operatorWord {
		namespace = client.AllNamespaces
	}
	made, err := api.Tokens.Create(ctx, client.TokenSpec{Scope: client.Scope(c.Scope), Namespace: namespace, Label: c.Label, ExpiresIn: c.Expires})
	if err != nil {
		return err
	}
	if con.json {
		return con.object(made)
	}
	con.sayf("%s", made.Token)
	con.notef("%s; its id is %s", lifetime(made.ExpiresAt), made.ID)
	return nil
}

// withRedis is how the first token is made where no directory holds it.
const withRedis = "start the server with --listen 127.0.0.1:8750, make the first token there by `foliot token create --for operator --scope admin`, without --data, and then let it listen where it is to"

// offline makes the token in a directory that no server has open.
func (c *tokenCreateCmd) offline(ctx context.Context, con *console, parsed *kong.Context) (err error) {
	dir, err := config.LocalDir("--data", c.Data)
	if err == nil {
		err = checkRead(parsed, withRedis)
	}
	if err == nil {
		err = fileaccess.CheckDataDir("--data", dir)
	}
	if err != nil {
		return err
	}
	store, err := pebblestore.Open(dir, pebblestore.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fileaccess.Placed("--data", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	scope, _ := task.ParseScope(c.Scope) // kong has checked the word
	token, hash := task.MintToken()
	e := task.AddToken{Namespace: c.For, Scope: scope, Label: c.Label, Hash: hash}
	switch c.For {
	case "":
		e.Namespace = task.DefaultNamespace
	case operatorWord:
		e.Namespace = task.AllNamespaces
	}
	e.First = !store.Settings().Secured()
	now := task.CeilMillis(time.Now())
	if c.Expires > 0 {
		e.ExpiresAt = now.Add(c.Expires)
	}
	replies, err := store.Configure(task.WithActor(ctx, task.Actor{By: "foliot token create --data"}), now, []task.Edit{e})
	if err != nil {
		return err
	}
	switch err := replies[0].Err; {
	case errors.Is(err, task.ErrFirstToken):
		return usage.Errorf("--for", "the first token is an operator's, --for operator --scope admin: otherwise no token could manage the server")
	case err != nil:
		return fmt.Errorf("create a token: %w", err)
	}
	if con.json {
		return con.object(client.Token{ID: e.Target().Name, Namespace: e.Namespace, Scope: client.Scope(c.Scope), Label: c.Label, State: "active", CreatedAt: now.Time(), ExpiresAt: timeOf(e.ExpiresAt), Token: token})
	}
	con.sayf("%s", token)
	con.notef("%s; its id is %s", lifetime(timeOf(e.ExpiresAt)), e.Target().Name)
	return nil
}

// timeOf returns m, and the zero time for never.
func timeOf(m task.Millis) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return m.Time()
}

func lifetime(expires time.Time) string {
	if expires.IsZero() {
		return "good until it is revoked"
	}
	return "good until " + wording.Instant(expires)
}

type tokenLsCmd struct{}

// Run prints the list.
func (tokenLsCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	heading := []string{"ID", "NAMESPACE", "SCOPE", "STATE", "CREATED", "EXPIRES", "LAST USED", "PARENT", "LABEL"}
	return listing(con, heading, api.Tokens.List(ctx), func(t *client.Token) []string {
		return []string{t.ID, t.Namespace, string(t.Scope), t.State, wording.Instant(t.CreatedAt), wording.InstantOr(t.ExpiresAt, "never"), wording.InstantOr(t.LastUsedAt, "never"), cmp.Or(t.Parent, "-"), t.Label}
	})
}

type tokenRevokeCmd struct {
	IDs      []string `arg:"" name:"id" help:"The tokens' ids, as foliot token ls shows them."`
	Children bool     `help:"Also revoke their children: the tokens made with them, and with those in turn."`
	Yes      bool     `short:"y" help:"Do not ask: revoke the last operator's token of scope admin too."`
}

// Help shows examples below the usage line.
func (tokenRevokeCmd) Help() string {
	return `A revoked token is refused from the reply on. It stays in the list as long as the audit log keeps entries, so that the log's ids go on meaning
something. Its children, the tokens made with it, stay valid, so that it can be replaced. If it leaked, end them with --children. A server that had a
token never opens again because its last one was revoked. Without an operator's token of scope admin nobody can manage it, so the last of those is
revoked only after a question, or with --yes; foliot token create --data makes another while the server is stopped, unless its tasks are in a Redis.

To rotate a token: create the new one, give it to its users, see in foliot token ls that the old one is used no more, revoke that.

Examples:

    foliot token revoke 3f29a1c05b7d8e64
    foliot token revoke 3f29a1c05b7d8e64 --children`
}

// Run revokes.
func (c *tokenRevokeCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	return eachName(ctx, con, c.IDs, func(id string) error {
		t, err := api.Tokens.RevokeWith(ctx, id, client.RevokeOptions{Children: c.Children})
		if errors.Is(err, client.ErrLastToken) {
			t, err = c.revokeLast(ctx, con, api, id)
		}
		if err != nil {
			return err
		}
		if con.json {
			return con.object(t)
		}
		con.sayf("revoked %s", id)
		if t.ActiveChildren > 0 {
			con.notef("%d of its children are still valid: if it leaked, revoke it again with --children", t.ActiveChildren)
		}
		return nil
	})
}

// revokeLast revokes the last token that can manage the server, after a confirmation.
func (c *tokenRevokeCmd) revokeLast(ctx context.Context, con *console, api *client.Client, id string) (*client.Token, error) {
	if !c.Yes {
		err := con.confirm(ctx, "revoke %s, the last valid operator's token of scope admin? No token can manage the server then. With a directory, stop the server and make another with `foliot token create --data`. With Redis there is no way back.", id)
		if err != nil {
			return nil, err
		}
	}
	return api.Tokens.RevokeWith(ctx, id, client.RevokeOptions{Force: true, Children: c.Children})
}
