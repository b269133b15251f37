package admin

import (
	"cmp"
	"errors"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/contexts"
	"github.com/foliot/foliot/internal/server/config"
)

type contextShowCmd struct{}

// Help shows examples below the usage line.
func (contextShowCmd) Help() string {
	return `Shows the server that a command with the same flags and variables would call, and where each value comes from: a flag, a variable,
the context, or the default. A token is not shown, only its file.

Examples:

    foliot context show
    foliot context show --context prod
    foliot context show -o json | jq -r .server.value`
}

// settingReply is a value of -o json.
type settingReply struct {
	Value  string `json:"value,omitempty"`
	Origin string `json:"origin"`         // flag, environment, context, default, or current for the current context
	Name   string `json:"name,omitempty"` // of the variable or the context
	Set    bool   `json:"set,omitempty"`  // it has a value, which is not shown
}

// from returns the origin as text for people.
func (s settingReply) from() string {
	if s.Name == "" {
		return s.Origin
	}
	return s.Origin + " " + s.Name
}

// targetReply is the output of -o json.
type targetReply struct {
	Context   settingReply `json:"context"`
	Server    settingReply `json:"server"`
	Namespace settingReply `json:"namespace"`
	Token     settingReply `json:"token"`
	TokenFile settingReply `json:"token_file"`
	CACert    settingReply `json:"ca_cert"`

	ClientCert settingReply `json:"client_cert"`
	ClientKey  settingReply `json:"client_key"`
}

// Run prints the server, and how it is called.
func (contextShowCmd) Run(con *console.Console, given *connect.Flags, parsed *kong.Context) error {
	t, err := given.Target()
	if err != nil {
		return err
	}
	reply := describeTarget(t, given.Token != "", originOf(parsed))
	if t.Unused {
		con.Notef("the context %s is not used: it is for another server", t.Context)
	}
	if con.JSON {
		return con.Object(reply)
	}
	out := con.Table([]string{"SETTING", "VALUE", "FROM"})
	for _, row := range []struct {
		name string
		of   settingReply
	}{
		{"context", reply.Context},
		{"server", reply.Server},
		{"namespace", reply.Namespace},
		{"token", reply.Token},
		{"token file", reply.TokenFile},
		{"ca-cert", reply.CACert},
		{"client-cert", reply.ClientCert},
		{"client-key", reply.ClientKey},
	} {
		value := cmp.Or(row.of.Value, "-")
		if row.of.Set {
			value = "set, not shown"
		}
		err = errors.Join(err, out.Add(row.name, value, row.of.from()))
	}
	if err = errors.Join(err, out.End()); err != nil || !con.OutTerm {
		return err
	}
	if path, err := contexts.Path(); err == nil {
		con.Notef("contexts are stored in %s", path)
	}
	return nil
}

// describeTarget returns the settings of t. origin returns the flag or the
// variable that gives a setting.
func describeTarget(t *connect.Target, hasToken bool, origin func(flag string) settingReply) targetReply {
	show := func(flag string, s connect.Setting) settingReply {
		r := settingReply{Origin: "default"}
		switch s.Origin {
		case connect.Given:
			r = origin(flag)
		case connect.FromContext:
			r = settingReply{Origin: "context", Name: t.Context}
		}
		r.Value = s.Value
		return r
	}
	reply := targetReply{
		Context: settingReply{Origin: "current"}, Server: show("server", t.Server), Namespace: show("namespace", t.Namespace),
		Token: settingReply{Origin: "default"}, TokenFile: show("token-file", t.TokenFile), CACert: show("ca-cert", t.CACert),
		ClientCert: show("client-cert", t.ClientCert), ClientKey: show("client-key", t.ClientKey),
	}
	switch {
	case t.Current && t.Context == contexts.None:
		reply.Context.Origin = "default"
	case !t.Current:
		reply.Context = origin("context")
	}
	reply.Context.Value = t.Context
	if hasToken {
		reply.Token = origin("token")
		reply.Token.Set = true
	}
	return reply
}

// originOf returns a function that finds the flag or the variable that gives a
// setting.
func originOf(parsed *kong.Context) func(name string) settingReply {
	origins := config.OriginsOf(parsed, new(config.Values))
	return func(name string) settingReply {
		for _, flag := range parsed.Model.Flags {
			if flag.Name == name {
				o := origins.Of(flag)
				return settingReply{Origin: cmp.Or(o.Kind, "default"), Name: o.Name}
			}
		}
		return settingReply{Origin: "default"}
	}
}
