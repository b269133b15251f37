package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/usage"
)

// cli is the whole command line: its fields are the flags and commands.
type cli struct {
	serverFlags

	Output string `short:"o" default:"text" enum:"text,json" env:"FOLIOT_OUTPUT" placeholder:"text|json" help:"How results are printed: text, or json, one object a line."`

	Serve  serveCmd  `cmd:"" group:"server" help:"Run the server."`
	Config configCmd `cmd:"" group:"server" help:"Print what the server would go by, and check it."`
	Listen listenCmd `cmd:"" group:"server" help:"Receive callbacks and print them, to try things out."`
	Add    addCmd    `cmd:"" group:"tasks" help:"Call this URL at this time."`
	Get    getCmd    `cmd:"" group:"tasks" help:"Show one task and its attempts."`
	Ls     lsCmd     `cmd:"" group:"tasks" help:"List tasks."`
	Cancel cancelCmd `cmd:"" group:"tasks" help:"Take tasks back."`
	Move   moveCmd   `cmd:"" group:"tasks" help:"Give a task another time."`
	Touch  touchCmd  `cmd:"" group:"tasks" help:"Restart the delay of tasks: a watchdog's heartbeat."`
	Run    runCmd    `cmd:"" group:"tasks" help:"Make waiting tasks due now."`
	Retry  retryCmd  `cmd:"" group:"tasks" help:"Give dead tasks a new life."`
	Import importCmd `cmd:"" group:"tasks" help:"Create tasks and schedules from a file, one JSON object a line."`
	Export exportCmd `cmd:"" group:"tasks" help:"Write tasks and schedules to a file that import reads."`

	Cron cronCmd `cmd:"" group:"tasks" help:"Schedules: call a URL again and again."`

	Dead      deadCmd      `cmd:"" group:"admin" help:"Tasks that gave up: list, retry, remove."`
	Queue     queueCmd     `cmd:"" group:"admin" help:"Limits, pauses and purges of queues."`
	Token     tokenCmd     `cmd:"" group:"admin" help:"Access tokens."`
	Secret    secretCmd    `cmd:"" group:"admin" help:"Secrets that sign callbacks."`
	Namespace namespaceCmd `cmd:"" group:"admin" help:"Tenants and their quotas."`
	Cluster   clusterCmd   `cmd:"" group:"admin" help:"Servers that share a Redis: who has what, and drains."`
	Redis     redisCmd     `cmd:"" group:"admin" help:"A Redis that lost a part of the store."`
	Audit     auditCmd     `cmd:"" group:"admin" help:"Who changed what."`
	Backup    backupCmd    `cmd:"" group:"admin" help:"Copy everything a running server keeps into a file."`
	Restore   restoreCmd   `cmd:"" group:"admin" help:"Make a data directory of a backup."`
	Doctor    doctorCmd    `cmd:"" group:"admin" help:"Say what is wrong with a server, a data directory, or a URL."`
	Top       topCmd       `cmd:"" group:"admin" help:"What the server is doing, live: lateness, backlog, destinations."`

	Bench   benchCmd   `cmd:"" group:"other" help:"Measure a server: create tasks, receive them, say how late they came."`
	Version versionCmd `cmd:"" group:"other" help:"Print the version."`

	Completion completionCmd `cmd:"" group:"other" help:"Print what makes a shell complete command lines."`
	Complete   completeCmd   `cmd:"" hidden:"" help:"What may stand at the end of a command line."`
	Man        manCmd        `cmd:"" group:"other" help:"Print the manual page."`
}

const description = `Foliot calls a URL at a time: at least once, to the millisecond, cancellable until the last moment.

A first callback:
  foliot serve                                          the server
  foliot listen --try 3s                                a receiver and a task for it, in a second terminal

And then:
  foliot listen                                         the receiver alone
  foliot add http://127.0.0.1:9000/hello --in 5s        a task, in a third terminal

` + exitCodesHelp

// helpShown unwinds the parser after it printed a help text: kong would go on
// and complain about what is missing.
type helpShown struct{}

// run is the program: it parses args, carries the command out and returns the
// exit code. ctx ends when the user interrupts.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case helpShown:
			code = exitOK
		default:
			panic(r)
		}
	}()
	var flags cli
	flags.notes = stderr
	parsed, err := newParser(&flags, stdout, stderr).Parse(joinNegative(helpAsFlag(args)))
	if err != nil {
		fmt.Fprintf(stderr, "foliot: %s; see `%s --help`\n", oneLine(plainly(err), nil), commandOf(err))
		return exitUsage
	}
	con := newConsole(stdin, stdout, stderr, flags.Output == "json")
	con.command = parsed.Selected()
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := parsed.BindToProvider(flags.client); err != nil { // asked by the commands that speak to a server
		panic(err)
	}
	parsed.Bind(dialer(flags.client)) // asked by those that may do without
	if err = checkLine(parsed); err == nil {
		err = parsed.Run(con)
	}
	flags.close()
	if !errors.Is(err, errSaid) {
		for _, one := range usage.Parts(err) {
			fmt.Fprintf(stderr, "foliot: %s\n", con.why(one))
		}
	}
	return exitCode(err)
}

// checkLine refuses lines that the parser accepts. Completion must not fail.
func checkLine(parsed *kong.Context) error {
	if _, completes := parsed.Selected().Target.Interface().(completeCmd); completes {
		return nil
	}
	if err := checkEnvironment(parsed.Model.Node, os.Environ()); err != nil {
		return err
	}
	return checkEmpty(parsed)
}

func newParser(flags *cli, stdout, stderr io.Writer) *kong.Kong {
	return kong.Must(flags, append([]kong.Option{
		kong.Name("foliot"),
		kong.Description(description),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, NoAppDescFormat: true, WrapUpperBound: 110}),
		kong.ValueFormatter(helpOf),
		kong.ExplicitGroups([]kong.Group{
			{Key: "server", Title: "Server:"},
			{Key: "tasks", Title: "Tasks:"},
			{Key: "admin", Title: "Operations:"},
			{Key: "other", Title: "Other:"},
			{Key: "filter", Title: "Filter:"},
			{Key: "serve-file", Title: "Configuration:"},
			{Key: "serve-listen", Title: "Clients and how they come in:"},
			{Key: "serve-store", Title: "Tasks and how long they are kept:"},
			{Key: "serve-redis", Title: "Tasks in a Redis or Valkey, and the servers that share it:"},
			{Key: "serve-deliver", Title: "Deliveries:"},
			{Key: "serve-watch", Title: "Watching:"},
		}),
		kong.Bind(new(config.Values)),
	}, readers...)...)
}

// helpOf returns a value's help with its default, where the text does not have it
// already, and its variable.
func helpOf(v *kong.Value) string {
	if v.HasDefault && v.Default != "" && !v.IsBool() && !strings.Contains(v.Help, "(default: ") {
		return kong.DefaultHelpValueFormatter(&kong.Value{
			Help: strings.TrimSuffix(v.Help, ".") + fmt.Sprintf(" (default: %s).", v.Default), OrigHelp: v.OrigHelp, Tag: v.Tag,
		})
	}
	return kong.DefaultHelpValueFormatter(v)
}

// helpAsFlag lets `foliot`, `foliot help` and `foliot help add` ask for help too.
func helpAsFlag(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(args[1:len(args):len(args)], "--help")
	}
	return args
}

// joinNegative writes `--since -1h` as `--since=-1h`: kong would take what begins
// with a dash for short flags. None of ours is a digit.
func joinNegative(args []string) []string {
	joined := make([]string, 0, len(args))
	for i, arg := range args {
		if arg == "--" {
			return append(joined, args[i:]...)
		}
		negative := len(arg) > 1 && arg[0] == '-' && (arg[1] == '.' || '0' <= arg[1] && arg[1] <= '9')
		if last := len(joined) - 1; negative && last >= 0 && strings.HasPrefix(joined[last], "--") && !strings.Contains(joined[last], "=") {
			joined[last] += "=" + arg
			continue
		}
		joined = append(joined, arg)
	}
	return joined
}

// commandOf names the command whose line could not be parsed.
func commandOf(err error) string {
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
		return parse.Context.Selected().FullPath()
	}
	return "foliot"
}

// errSaid is in the chain of an error whose parts were printed already, one by
// one: only its exit code is left.
var errSaid = errors.New("already reported")
