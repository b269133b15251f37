package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/admin"
	"github.com/foliot/foliot/internal/cli/apply"
	"github.com/foliot/foliot/internal/cli/completion"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/cron"
	"github.com/foliot/foliot/internal/cli/demo"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/receive"
	"github.com/foliot/foliot/internal/cli/tasks"
	"github.com/foliot/foliot/internal/cli/transfer"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/server/redisurl"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/usage"
)

// cli is the whole command line: its fields are the flags and commands.
type cli struct {
	connect.Flags

	Version kong.VersionFlag `short:"V" group:"global" help:"Print the version."`
	Output  string           `short:"o" group:"global" default:"text" enum:"text,json" env:"FOLIOT_OUTPUT" placeholder:"text|json" help:"Print text, or JSON with one object per line."`

	Demo   demo.Demo      `cmd:"" group:"server" help:"Show Foliot at work, with a server of its own."`
	Serve  serveCmd       `cmd:"" group:"server" help:"Run the server."`
	Config configCmd      `cmd:"" group:"server" help:"Check and print the configuration of the server."`
	Health healthCmd      `cmd:"" group:"server" help:"Check the server on this machine, for containers."`
	Listen receive.Listen `cmd:"" group:"server" help:"Receive callbacks and print them, for tests."`

	Add      tasks.Add       `cmd:"" group:"tasks" aliases:"create" help:"Create a task: call a URL at a given time."`
	Get      tasks.Get       `cmd:"" group:"tasks" aliases:"show" help:"Show one task and its attempts."`
	Ls       tasks.Ls        `cmd:"" group:"tasks" aliases:"list" help:"List tasks."`
	Upcoming tasks.Upcoming  `cmd:"" group:"tasks" help:"List what is due next: tasks, and instants of schedules."`
	Cancel   tasks.Cancel    `cmd:"" group:"tasks" aliases:"delete,rm" help:"Cancel tasks."`
	Move     tasks.Move      `cmd:"" group:"tasks" help:"Change the due time of tasks, or make them due now."`
	Touch    tasks.Touch     `cmd:"" group:"tasks" help:"Restart the delay of tasks, as the heartbeat of a watchdog."`
	Retry    tasks.Retry     `cmd:"" group:"tasks" help:"Run dead or finished tasks again."`
	Import   transfer.Import `cmd:"" group:"tasks" help:"Create tasks and schedules from a file of JSON lines."`
	Export   transfer.Export `cmd:"" group:"tasks" help:"Write tasks and schedules to a file that foliot import reads."`

	Cron cron.Commands `cmd:"" group:"tasks" help:"Manage schedules, which call a URL repeatedly."`

	Dead      tasks.Dead       `cmd:"" group:"admin" help:"List, retry and cancel dead tasks."`
	Queue     admin.Queue      `cmd:"" group:"admin" help:"Manage queues: limits, pauses, purges."`
	Token     admin.Token      `cmd:"" group:"admin" help:"Manage access tokens."`
	Whoami    admin.Whoami     `cmd:"" group:"admin" help:"Show the rights of the token in use, and the server."`
	Secret    admin.Secret     `cmd:"" group:"admin" help:"Manage the secrets that sign callbacks."`
	Namespace admin.Namespace  `cmd:"" group:"admin" help:"Manage namespaces and their quotas."`
	Cluster   admin.Cluster    `cmd:"" group:"admin" help:"Show and drain the servers that share a store."`
	Redis     admin.Redis      `cmd:"" group:"admin" help:"Continue after a Redis has lost a part of the store."`
	Postgres  admin.Postgres   `cmd:"" group:"admin" help:"Make the tables of a store in PostgreSQL, which foliot doctor postgres examines."`
	Context   admin.Context    `cmd:"" group:"admin" help:"Name the servers that you call, and choose one."`
	Audit     admin.Audit      `cmd:"" group:"admin" help:"Show the audit log."`
	Apply     apply.Command    `cmd:"" group:"admin" help:"Make namespaces, queues and schedules equal to files."`
	Backup    transfer.Backup  `cmd:"" group:"admin" help:"Copy all data of a running server into a file."`
	Restore   transfer.Restore `cmd:"" group:"admin" help:"Create a data directory from a backup."`
	Migrate   transfer.Migrate `cmd:"" group:"admin" help:"Move everything from one store into another: directory, Redis, PostgreSQL."`
	Doctor    doctorCmd        `cmd:"" group:"admin" help:"Find the problems of a server, its data or a URL."`
	UI        admin.UI         `cmd:"" name:"ui" group:"admin" help:"Open the web page of a server."`
	Tail      admin.Tail       `cmd:"" group:"admin" help:"Print attempts of deliveries as they end."`
	Stats     admin.Stats      `cmd:"" group:"admin" help:"Show what happened in the last hours or days, by time or by queue."`
	Top       admin.Top        `cmd:"" group:"admin" help:"Show live lateness, backlog and destinations of a server."`

	Completion completion.Script  `cmd:"" group:"other" help:"Print a completion script for a shell."`
	Complete   completion.Command `cmd:"" hidden:"" group:"other" help:"List the completions of a command line."`
	Man        manCmd             `cmd:"" group:"other" help:"Print the manual page."`
}

const description = `Foliot calls a URL at a time: at least once, to the millisecond, cancellable until the last moment.

A first callback:
  foliot serve                                          start the server
  foliot listen --try 3s                                in a second terminal: start a receiver, create a task for it

` + exit.CodesSummary

// helpShown unwinds the parser after it printed a help text. Otherwise kong
// would continue to parse and report missing arguments.
type helpShown struct{}

// run parses args, runs the command and returns the exit code. The caller
// cancels ctx when the user interrupts.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case helpShown:
			code = exit.OK
		default:
			panic(r)
		}
	}()
	parser, ended := takeParser()
	defer ended()
	parser.Stdout, parser.Stderr = stdout, stderr
	flags := parser.line
	flags.Notes, flags.Typed = stderr, map[string]bool{}
	parsed, err := parser.Parse(joinNegative(helpAsFlag(modern(args, stderr))))
	if err != nil {
		con := console.New(stdin, stdout, stderr, asksJSON(args))
		con.PrintError(exit.Unparsed(rewordParseError(err), "see `"+commandOf(err)+" --help`"))
		return exit.Usage
	}
	for _, p := range parsed.Path {
		if p.Flag != nil && !p.Resolved {
			flags.Typed[p.Flag.Name] = true
		}
	}
	con := console.New(stdin, stdout, stderr, flags.Output == "json")
	con.Command, con.Where = parsed.Selected(), whereOf(ctx, &flags.Flags)
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := parsed.BindToProvider(flags.Client); err != nil { // for commands that always call a server
		panic(err)
	}
	parsed.Bind(&flags.Flags)
	parsed.Bind(demo.Tools{Browse: admin.Browse, Remove: removeRedis})
	parsed.Bind(connect.Dialer(flags.Client)) // for commands that may run without a server
	if err = checkLine(parsed); err == nil {
		err = parsed.Run(con)
	}
	flags.Close()
	if !errors.Is(err, exit.ErrReported) {
		for _, one := range usage.Parts(err) {
			con.PrintError(one)
		}
	}
	return exit.CodeOf(err)
}

// removeRedis removes all keys of the store at a URL.
func removeRedis(ctx context.Context, url string) error {
	u, err := redisurl.Parse(url)
	if err != nil {
		return usage.Errorf("--store", "%v", err)
	}
	var c redisstore.Config
	if err := u.Configure(&c); err != nil {
		return err
	}
	return u.Explain("use", redisstore.Remove(ctx, c))
}

// checkLine refuses some command lines that the parser accepts. It never
// refuses a request for completions.
func checkLine(parsed *kong.Context) error {
	if _, completes := parsed.Selected().Target.Interface().(completion.Command); completes {
		return nil
	}
	if err := checkEnvironment(parsed.Model.Node, os.Environ()); err != nil {
		return err
	}
	return checkFlags(parsed)
}

// lineParser is a parser, and the variables that it fills.
type lineParser struct {
	*kong.Kong
	line *cli
	file *config.Values
}

func newLineParser() *lineParser {
	p := &lineParser{line: new(cli), file: new(config.Values)}
	p.Kong = newParser(p.line, p.file)
	return p
}

// takeParser returns a parser for one command line, and a function to call when
// the command has ended. The tests replace it, because they run thousands of
// command lines, and a new parser takes longer than most commands.
var takeParser = func() (p *lineParser, ended func()) { return newLineParser(), func() {} }

func newParser(line *cli, file *config.Values) *kong.Kong {
	parser := kong.Must(line, append([]kong.Option{
		kong.Name("foliot"),
		kong.Description(description),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, NoExpandSubcommands: true, NoAppDescFormat: true, WrapUpperBound: 110}),
		kong.Help(printHelp),
		kong.ValueFormatter(helpOf),
		kong.ExplicitGroups([]kong.Group{
			{Key: "server", Title: "Server:"},
			{Key: "tasks", Title: "Tasks:"},
			{Key: "admin", Title: "Operations:"},
			{Key: "other", Title: "Other:"},
			{Key: "filter", Title: "Filter:"},
			globalFlags,
			{Key: "serve-file", Title: "Configuration:"},
			{Key: "serve-listen", Title: "Clients and access:"},
			{Key: "serve-store", Title: "Storage and retention:"},
			{Key: "serve-redis", Title: "Storage in Redis, Valkey or PostgreSQL, shared by several servers:"},
			{Key: "serve-deliver", Title: "Deliveries:"},
			{Key: "serve-watch", Title: "Logs, metrics and traces:"},
		}),
		kong.Bind(file),
		kong.Vars{"version": version()},
	}, flags.Readers...)...)
	parser.Model.HelpFlag.Group = &globalFlags
	return parser
}

// helpAsFlag lets `foliot`, `foliot help` and `foliot help add` ask for help
// too.
func helpAsFlag(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(args[1:len(args):len(args)], "--help")
	}
	return args
}

// joinNegative writes `--since -1h` as `--since=-1h`, because kong takes a word
// that begins with a dash for short flags. No short flag of foliot is a digit.
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

// asksJSON reports whether a command line that cannot be parsed asks for JSON.
func asksJSON(args []string) bool {
	format := os.Getenv("FOLIOT_OUTPUT")
	for i, arg := range args {
		if arg == "--" {
			break
		}
		isShort := strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--")
		value, joined := strings.CutPrefix(arg, "--output=")
		switch {
		case joined:
			format = value
		case isShort && strings.HasPrefix(arg, "-o") && len(arg) > len("-o"):
			format = strings.TrimPrefix(arg[len("-o"):], "=")
		case (arg == "--output" || isShort && strings.HasSuffix(arg, "o")) && i+1 < len(args):
			format = args[i+1]
		}
	}
	return format == "json"
}

// commandOf names the command for which parsing failed.
func commandOf(err error) string {
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil && parse.Context.Selected() != nil {
		return nameOf(parse.Context.Selected())
	}
	return "foliot"
}
