package admin

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/contexts"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/usage"
)

// Context holds the commands for contexts.
type Context struct {
	Add contextAddCmd `cmd:"" aliases:"create" help:"Add a context: a server, and how to call it."`
	Use contextUseCmd `cmd:"" help:"Make a context the current one."`
	Ls  contextLsCmd  `cmd:"" aliases:"list" help:"List the contexts."`
}

func (Context) Help() string {
	return `A context is a name for a server, with a namespace and the paths of a token file and of certificates. Commands call the server of
the current context. --context or FOLIOT_CONTEXT chooses another one for a call, and the name default means none. Flags, such as
--server, override the context. Variables, such as FOLIOT_SERVER, override it too, but next to --context they are an error. A context
is used only for its own server, and so is its token.

The contexts are in foliot/contexts.yaml in your configuration directory. The file contains no token.
To remove a context, delete its lines.`
}

type contextAddCmd struct {
	Name    string `arg:"" help:"The name of the context."`
	Replace bool   `help:"Replace an existing context."`
}

func (contextAddCmd) Help() string {
	return `Stores --server, --namespace, --token-file, --ca-cert, --client-cert and --client-key under a name. It does not store variables and
tokens.

Examples:

    foliot context add prod --server https://foliot.example --token-file ~/.foliot-token
    foliot context add shop --server https://foliot.example --namespace shop --token-file ~/.foliot-token`
}

// contextReply is the output of -o json.
type contextReply struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	contexts.Context
}

func (c *contextAddCmd) Run(con *console.Console, given *connect.Flags) error {
	typed := func(flag, value string) string {
		if !given.Typed[flag] { // a variable sets it
			return ""
		}
		return value
	}
	if err := flags.CheckName("NAME", "context", c.Name); err != nil {
		return err
	}
	if c.Name == contexts.None {
		return usage.Errorf("NAME", "%q means that there is no context: choose another name", c.Name)
	}
	if typed("token", given.Token) != "" {
		return usage.Errorf("--token", "a context contains no token: write it to a file, and pass --token-file FILE")
	}
	added := contexts.Context{Server: typed("server", given.Server), Namespace: typed("namespace", given.Namespace), TokenFile: typed("token-file", given.TokenFile), CACert: typed("ca-cert", given.CACert), ClientCert: typed("client-cert", given.ClientCert), ClientKey: typed("client-key", given.ClientKey)}
	if added.Server == "" {
		return usage.Errorf("--server", "it is missing: pass the URL of the server, such as %s", connect.DefaultServer)
	}
	if err := connect.CheckServer("--server", added.Server); err != nil {
		return err
	}
	if strings.Contains(added.Server, "@") {
		return usage.Errorf("--server", "the URL must not contain a user or a password: pass --token-file FILE")
	}
	if added.Namespace != "" {
		if err := flags.CheckName("--namespace", "namespace", added.Namespace); err != nil {
			return err
		}
	}
	for _, path := range []*string{&added.TokenFile, &added.CACert, &added.ClientCert, &added.ClientKey} {
		if *path == "" {
			continue
		}
		full, err := filepath.Abs(*path) // the working directory of later commands is another one
		if err != nil {
			return err
		}
		*path = full
	}
	if err := connect.CheckFiles(added.TokenFile, added.CACert, added.ClientCert, added.ClientKey); err != nil {
		return err
	}
	current := false
	err := contexts.Update(func(file *contexts.File) error {
		if _, exists := file.Contexts[c.Name]; exists && !c.Replace {
			return exit.With(exit.Conflict, fmt.Errorf("context add %s: it already exists: choose another name, or pass --replace", c.Name))
		}
		file.Contexts[c.Name], current = added, file.Current == c.Name
		return nil
	})
	if err != nil {
		return err
	}
	if !current {
		con.Notef("foliot context use %s makes it the current context", usage.ShellWord(c.Name))
	}
	return con.Resultf(contextReply{c.Name, current, added}, "added %s", c.Name)
}

type contextUseCmd struct {
	Name string `arg:"" help:"The name of the context; default: none."`
}

func (contextUseCmd) Help() string {
	return `Examples:

    foliot context use prod
    foliot context use default`
}

func (c *contextUseCmd) Run(con *console.Console) error {
	var chosen contexts.Context
	err := contexts.Update(func(file *contexts.File) error {
		var known bool
		if chosen, known = file.Contexts[c.Name]; !known && c.Name != contexts.None {
			return exit.With(exit.NotFound, fmt.Errorf("context use %s: there is no such context%s; `foliot context ls` lists the existing ones", c.Name, usage.DidYouMean(c.Name, file.Names())))
		}
		file.Current = c.Name
		if c.Name == contexts.None {
			file.Current = ""
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"FOLIOT_CONTEXT", "FOLIOT_SERVER"} {
		if os.Getenv(name) != "" {
			con.Notef("%s is set and overrides the current context: unset it, or see foliot whoami", name)
		}
	}
	return con.Resultf(contextReply{c.Name, true, chosen}, "commands now use context %s", c.Name)
}

type contextLsCmd struct{}

func (contextLsCmd) Help() string {
	return `A terminal shows a table. Other outputs get one line per context: name, current or -, server, namespace and token file, separated by
tabs. The name default stands for no context.

Examples:

    foliot context ls
    foliot context ls -o json | jq -r .server`
}

func (contextLsCmd) Run(con *console.Console) error {
	file, err := contexts.Read()
	if err != nil {
		return err
	}
	out := con.Table([]string{"NAME", "CURRENT", "SERVER", "NAMESPACE", "TOKEN FILE"})
	for _, name := range append([]string{contexts.None}, file.Names()...) {
		of := file.Contexts[name]
		reply := contextReply{name, name == file.Current, of}
		if name == contexts.None {
			reply.Server, reply.Current = connect.DefaultServer, file.Current == ""
		}
		err = out.Item(reply, name, map[bool]string{true: "current", false: "-"}[reply.Current], reply.Server, cmp.Or(reply.Namespace, "-"), cmp.Or(reply.TokenFile, "-"))
		if err != nil {
			return err
		}
	}
	return out.End()
}
