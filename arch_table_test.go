package foliot

// layer is one row of the import table: a package of this module, and the packages
// that it may import. Every package may import the standard library.
type layer struct {
	path string   // relative to the module; "examples/..." stands for all below
	may  []string // packages of ours; "any" for all of them
	tech []string // modules of other authors, by prefix; "any" for all of them
	why  string   // printed when the row is broken
	size string   // why the package has more than maxLines lines or maxFiles files; "": it must not

	tests []string // packages of ours that its tests alone may import too

	shipped bool // linked into programs of users: must not reach package testing
}

// layers is the whole table. A package without a row fails the test, so that
// its author must decide where it belongs.
var layers = []layer{
	{
		path: ".", may: []string{
			"internal/cron", "internal/dispatch", "internal/engine", "internal/outgoing",
			"internal/settings", "internal/sparselog", "internal/store", "internal/task", "internal/task/recurrence", "internal/webhook",
		},
		tests: []string{"client", "dir", "foliottest", "remote"}, shipped: true,
		why: "a program embeds the timers: it links the pure packages, and only the store that it names. It links no HTTP client, Prometheus or OpenTelemetry unless it imports remote, metrics or traces",
	},
	{
		path: "dir", may: []string{".", "internal/engine", "internal/engine/directory"}, shipped: true,
		why: "a program that keeps its timers in a directory links neither a Redis client nor the API",
	},
	{
		path: "redis", may: []string{".", "internal/engine", "internal/engine/redis", "internal/server/redisurl"}, shipped: true,
		tech:  []string{"github.com/redis/rueidis"}, // Use takes the client settings of a program
		tests: []string{"internal/redistest"},
		why:   "a program that keeps its timers in a Redis links neither a database nor the API",
	},
	{
		path: "postgres", may: []string{".", "internal/engine", "internal/engine/postgres", "internal/store/pgstore"}, shipped: true,
		tech:  []string{"github.com/jackc/pgx/v5"}, // Use and Tx take a pool and a transaction of a program
		tests: []string{"admin", "client", "foliottest", "internal/redistest", "internal/servertest/pgtest", "internal/store", "internal/task", "internal/wire", "remote"},
		why:   "a program that keeps its timers in PostgreSQL links neither another store nor the API",
	},
	{
		path: "admin", may: []string{
			".", "internal/api", "internal/buildinfo", "internal/engine", "internal/page", "internal/settings", "internal/task",
		},
		tests: []string{"client", "client/admin", "foliottest", "internal/engine/memory", "internal/store", "remote", "webhook"}, shipped: true,
		why: "only a program that serves the API links it",
	},
	{
		path: "remote", may: []string{".", "client", "internal/engine", "internal/task"}, shipped: true,
		why: "only a program that creates tasks in another one links the HTTP client",
	},
	{
		path: "metrics", may: []string{
			".", "internal/buildinfo", "internal/dispatch", "internal/engine", "internal/settings", "internal/telemetry/metrics",
		}, tech: []string{"github.com/prometheus"}, shipped: true,
		tests: []string{"foliottest", "internal/task"},
		why:   "only a program that exports metrics links Prometheus",
	},
	{
		path: "traces", may: []string{"."}, tech: []string{"go.opentelemetry.io/otel"}, shipped: true,
		tests: []string{"foliottest"},
		why:   "only a program that exports spans links OpenTelemetry, and it links no exporter here",
	},
	{
		path: "foliottest", may: []string{".", "internal/engine", "internal/engine/memory"},
		why: "tests of users link it, and programs do not",
	},
	{
		path: "internal/store/pebblestore/marker",
		why:  "a directory is recognised without the database",
	},
	{
		path: "wheel", shipped: true,
		why:  "the engine is a library: a program that imports it must not inherit further packages",
		size: "users import one package: its types share locks and nodes, which a cut would export",
	},
	{
		path: "idle", may: []string{"wheel"}, shipped: true,
		why:  "idle is a library on top of the engine: the standard library and wheel are its whole cost",
		size: "users import one package: its connections and the group share locks, which a cut would export",
	},
	{
		path: "webhook", shipped: true,
		why: "a receiver links nothing of Foliot except the signature: the standard library is its whole cost",
	},
	{
		path: "client", may: []string{"client/internal/batches", "client/internal/conn", "client/internal/convert", "internal/timespan", "internal/wire", "internal/wire/fields"}, shipped: true,
		tests: []string{"client/admin", "internal/activity", "internal/api", "internal/servertest", "internal/task", "internal/store", "internal/store/memstore"}, // against the server as it is
		why:   "the client is a library: it uses the wire format, and knows no other part of the server",
		size:  "users import one package: a file for each noun of the API, and its types",
	},
	{
		path: "client/admin", may: []string{"client", "client/internal/conn", "client/internal/convert", "internal/wire"}, shipped: true,
		why: "operators share the connection of a client: programs that create tasks do not link their calls",
	},
	{
		path: "client/internal/batches", shipped: true,
		why: "the rules of batches are pure: they know neither calls nor the network",
	},
	{
		path: "client/internal/conn", may: []string{"client/internal/convert"}, shipped: true,
		why: "both packages of the client build calls from this: it sends nothing",
	},
	{
		path: "client/internal/convert", may: []string{"internal/timespan", "internal/wire", "internal/wire/fields"}, shipped: true,
		why: "values become JSON for both packages of the client: it knows no type of theirs",
	},
	{
		path: "internal/task", may: []string{"internal/task", "internal/timespan"}, // the recurrence of a schedule, and the wall clock's time
		tests: []string{"internal/cron"},         // the expressions of the page about schedules
		tech:  []string{"golang.org/x/net/idna"}, // a receiver has one lane, in every alphabet of its name
		why:   "the domain stands below everything: an import here would tie each store and each layer to it",
		size:  "the transitions of tasks and schedules change one record, with the same unexported methods: a cut would export these",
	},
	{
		path: "internal/task/recurrence", may: []string{"internal/cron", "internal/task/wallclock"},
		why: "the next instant is a function of a rule, its history and the time: it knows neither tasks nor stores",
	},
	{
		path: "internal/task/wallclock",
		why:  "the time is a number: its callers read the clock",
	},
	{
		path: "internal/settings", may: []string{"internal/task"},
		why: "settings are the domain's second half: rules about queues, namespaces and tokens use the task, and no store",
	},
	{
		path: "internal/store", may: []string{"internal/history", "internal/task", "internal/settings"},
		why: "the contract of all stores is made of the domain's words: a technology here would tie all stores to it",
	},
	{
		path: "internal/wire",
		why:  "the JSON's shapes are linked into the client: they know neither rules nor the server",
	},
	{
		path: "internal/wire/fields",
		why:  "it copies any two structs by the names of their fields: the types belong to its callers",
	},
	{
		path: "internal/bytesize",
		why:  "the text of a number of bytes is a pure function of the number",
	},
	{
		path: "internal/timespan",
		why:  "the text of a duration is a pure function of the duration",
	},
	{
		path: "internal/spelling",
		why:  "the search for a similar word is a pure function of the words",
	},
	{
		path: "internal/usage", may: []string{"internal/spelling"},
		why: "an error about a flag is words: every package that reads one may return it",
	},
	{
		path:  "internal/redact",
		tests: []string{"internal/task", "internal/settings"}, // tokens and secrets as they are made
		why:   "a secret is recognised by its form alone",
	},
	{
		path: "internal/fileaccess", may: []string{"internal/usage", "internal/store/pebblestore/marker"}, // which marks its directories
		why: "the access to a file is a fact of the system: what the file holds is its reader's business",
	},
	{
		path: "internal/cron", may: []string{"internal/spelling", "internal/timespan"},
		why: "a calendar is a pure function of the time and a rule: it knows neither tasks nor stores",
	},
	{
		path: "internal/crontab", may: []string{"internal/cron"},
		why: "a crontab is read by itself: the command line decides how to use the result",
	},
	{
		path: "internal/trustedclock",
		why:  "a clock is a function of two others: its callers decide what ends by it",
	},
	{
		path: "internal/sparselog",
		why:  "it is a handler in front of any log",
	},
	{
		path: "internal/tokenbucket",
		why:  "a rate is a pure function of the time: callers have the clock, and the limits",
	},
	{
		path: "internal/dispatch/planner", may: []string{"internal/task", "internal/store", "internal/settings"},
		tests: []string{"internal/tasktest/permittest"},
		why:   "the planner is a pure function of the time, the hints and the reads. Its imports are pure as well, so it cannot reach a clock, a timer or a store",
		size:  "its three cores (choose, window, limits) have no pointer to each other, but share lanes, queues and destinations: a cut would export all their fields",
	},
	{
		path: "internal/dispatch", may: []string{"wheel", "internal/task", "internal/store", "internal/settings", "internal/dispatch/planner", "internal/sparselog"},
		tests: []string{"internal/store/redisstore", "internal/trustedclock", "internal/tasktest/permittest"}, // limits that several dispatchers share; a clock as the server has it
		why:   "dispatch knows the engine and the domain; stores and deliveries reach it as interfaces and functions, so that each can be replaced in a test",
	},
	{
		path: "internal/maintenance", may: []string{"internal/task", "internal/store", "internal/settings"},
		tests: []string{"internal/dispatch", "internal/trustedclock"}, // schedules and tokens when the clock is set
		why:   "work in the background uses the store's contract, as all other packages do",
	},
	{
		path: "internal/webhook", may: []string{"internal/task", "internal/wire", "webhook"}, tech: []string{"code.dny.dev/ssrf", "golang.org/x/net/http/httpguts"},
		tests: []string{"internal/settings"},
		why:   "an attempt is a function from a task to an outcome: it does not know the source of tasks or the use of outcomes",
	},
	{
		path: "internal/api/decode", may: []string{"internal/task"},
		why: "strict JSON is a format: it knows the domain's field errors and limits, and no type of the API",
	},
	{
		path: "internal/api/rings", may: []string{"internal/task"},
		why: "slots are arithmetic: stores count, and the API shows the result",
	},
	{
		path: "internal/api/admission", may: []string{"internal/settings", "internal/tokenbucket"}, tech: []string{"golang.org/x/sync"},
		why: "one file says who may use how much of a server",
	},
	{
		path: "internal/api", may: []string{"docs", "internal/activity", "internal/api/admission", "internal/api/decode", "internal/api/rings", "internal/cron", "internal/history", "internal/settings", "internal/sparselog", "internal/spelling", "internal/store", "internal/task", "internal/timespan", "internal/tokenbucket", "internal/wire", "internal/wire/fields", "webhook"},
		why:  "the API speaks to the domain's contracts: a store or the dispatcher named here could not be exchanged",
		size: "a file for each noun of the API; they share authentication, quotas and the problem replies",
	},
	{
		path: "internal/telemetry/metrics", may: []string{"internal/dispatch", "internal/task", "internal/store", "internal/settings"}, tech: []string{"github.com/prometheus"},
		why: "the server reports metrics through plain functions: no other package needs to know Prometheus",
	},
	{
		path: "internal/telemetry/tracing", may: []string{"internal/task", "internal/sparselog", "internal/usage"},
		tech: []string{"go.opentelemetry.io", "google.golang.org/protobuf/proto", "golang.org/x/net/http/httpguts"},
		why:  "OpenTelemetry is heavy, and off by default: it stays behind a few functions",
	},
	{
		path: "internal/store/memstore", may: []string{"internal/history", "internal/task", "internal/store", "internal/settings"},
		why: "the reference is judged by reading it: a map, a mutex and the domain",
	},
	{
		path: "internal/store/codec", may: []string{"internal/task", "internal/settings", "internal/cron"},
		why: "bytes are a pure function of the record: the same in each store that keeps some",
	},
	{
		path: "internal/store/kernel", may: []string{"internal/task", "internal/store", "internal/settings", "internal/store/lowwater", "internal/store/quota"},
		why: "the rules of a step are pure, and know no medium: two stores must not decide differently",
	},
	{
		path: "internal/store/membership", may: []string{"internal/task", "internal/settings", "internal/store", "internal/store/lowwater"},
		why: "heartbeats and leases decide the owner of a shard: the registry is any store's",
	},
	{
		path: "internal/store/quota", may: []string{"internal/task", "internal/settings"},
		why: "the usage of a namespace is arithmetic under a lock: the store counts its records",
	},
	{
		path: "internal/store/lowwater", may: []string{"internal/task", "internal/store"},
		why: "marks are arithmetic under a lock: the store decides where the index is",
	},
	{
		path: "internal/store/permits", may: []string{"internal/store"},
		why: "the rule that shares limits is pure: each store locks the state, and reads its own clock",
	},
	{
		path: "internal/store/pebblestore", may: []string{"internal/history", "internal/bytesize", "internal/task", "internal/store", "internal/settings", "internal/store/codec", "internal/store/kernel", "internal/store/lowwater", "internal/store/pebblestore/marker"},
		tech: []string{"github.com/cockroachdb/pebble/v2"},
		why:  "a store is the domain's contract in one technology; the rules that two stores share belong to internal/task and kernel, the rest to codec and lowwater",
		size: "one committer applies each change to records, indexes, counts and the audit log in one batch: they share its state",
	},
	{
		path: "internal/store/redisstore/keyspace", may: []string{"internal/task", "internal/store/codec"},
		why: "a key's name is a pure function of its contents: all packages of the store in Redis use the same names",
	},
	{
		path: "internal/store/serverclock", may: []string{"internal/trustedclock"},
		why: "the clocks of servers are a function of their replies: the requests are made above",
	},
	{
		path: "internal/store/redisstore/redisconn", may: []string{"internal/bytesize", "internal/sparselog", "internal/task", "internal/store/codec", "internal/store/redisstore/keyspace", "internal/store/serverclock"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "connections, retries and durability are the same for every script: records, settings and shard leases are above",
		size: "a write needs its batch, its retry, the master's state and its durability, and each is a method of Servers: a cut would export the fields of Servers",
	},
	{
		path: "internal/store/redisstore/registry", may: []string{"internal/task", "internal/store", "internal/settings", "internal/store/codec", "internal/store/membership", "internal/store/redisstore/keyspace", "internal/store/redisstore/redisconn"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "the nodes and the owners of shards as Redis keeps them: the store, which it calls back, knows the contents",
	},
	{
		path: "internal/store/redisstore/records", may: []string{"internal/task", "internal/store/codec", "internal/store/kernel", "internal/store/redisstore/keyspace", "internal/store/redisstore/redisconn"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "the keys of a record are a function of the record alone: the changes are made above",
	},
	{
		path: "internal/store/redisstore/lanes", may: []string{"internal/task", "internal/store", "internal/store/codec", "internal/store/lowwater", "internal/store/membership", "internal/store/redisstore/keyspace", "internal/store/redisstore/redisconn", "internal/store/redisstore/registry"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "the index of lanes finds the waiting tasks of a shard: their records belong to the store",
	},
	{
		path: "internal/store/redisstore/identity", may: []string{"internal/task", "internal/store/codec", "internal/store/redisstore/keyspace", "internal/store/redisstore/redisconn", "internal/store/redisstore/registry"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "the identity of a store is needed before a store is open, and by a doctor that opens none",
	},
	{
		path: "internal/store/redisstore/scrub", may: []string{"internal/task", "internal/store", "internal/store/codec", "internal/store/kernel", "internal/store/redisstore/keyspace", "internal/store/redisstore/redisconn", "internal/store/redisstore/registry", "internal/store/redisstore/lanes", "internal/store/redisstore/records"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "repairs look at keys, not at calls: they need one function of the store",
	},
	{
		path: "internal/store/redisstore", may: []string{"internal/history", "internal/task", "internal/store", "internal/settings", "internal/sparselog", "internal/store/codec", "internal/store/kernel", "internal/store/lowwater", "internal/store/membership", "internal/store/permits", "internal/store/quota", "internal/store/serverclock", "internal/store/redisstore/keyspace", "internal/store/redisstore/redisconn", "internal/store/redisstore/registry", "internal/store/redisstore/records", "internal/store/redisstore/lanes", "internal/store/redisstore/identity", "internal/store/redisstore/scrub"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "a store is the domain's contract in one technology; the rules that two stores share belong to internal/task and kernel, the rest to codec, lowwater and permits",
	},
	{
		path: "internal/store/sqltask", may: []string{"internal/task", "internal/settings", "internal/store/codec", "internal/store/kernel"},
		why: "the columns of a record are a function of the record alone: the tables and statements are above",
	},
	{
		path: "internal/store/pgstore", may: []string{"internal/history", "internal/task", "internal/store", "internal/settings", "internal/sparselog", "internal/store/codec", "internal/store/kernel", "internal/store/lowwater", "internal/store/membership", "internal/store/permits", "internal/store/quota", "internal/store/serverclock", "internal/store/sqltask"},
		tech: []string{"github.com/jackc/pgx/v5", "golang.org/x/sync", "golang.org/x/sys"}, // a lock that a deadline ends; an option of TCP
		why:  "a store is the domain's contract in one technology; the rules that two stores share belong to internal/task and kernel, the rest to codec and lowwater",
		size: "each change is one transaction over records, leases, news and counts: the statements share their columns and connections",
	},
	{
		path: "internal/store/migration", may: []string{"internal/task", "internal/history", "internal/store", "internal/settings", "internal/store/codec"},
		tech:  []string{"golang.org/x/sync"},
		tests: []string{"internal/store/memstore", "internal/store/pebblestore", "internal/store/pgstore", "internal/store/redisstore"},
		why:   "contents move by the contract of stores alone: code for one store could lose what another one has",
	},
	{
		path: "internal/store/storetest", may: []string{"internal/history", "internal/task", "internal/store", "internal/settings", "internal/tasktest", leaving, failing}, tech: testTools,
		why:  "the suite knows only the contract: a suite that used one store could not judge all stores alike",
		size: "a suite: a file for each part of the contract, and each is read alone",
	},
	{
		path: "test/prose",
		why:  "the checks of the English read files: a check that imported a package could not judge all packages alike",
	},
	{
		path: leaving,
		why:  "the choice of tests for make test: tests of all packages use it",
	},
	{
		path: failing,
		why:  "the end of a test at an error: tests of all packages use it",
	},
	{
		path: "internal/tasktest", may: []string{"internal/task"},
		why: "tests of all packages make their tasks with it, so it knows only tasks",
	},
	{
		path: "internal/tasktest/permittest", may: []string{"internal/task", "internal/store"},
		why: "the model of shared limits knows only the contract: a model that used the planner could not judge it",
	},
	{
		path: "internal/redistest", may: []string{leaving, failing},
		why: "servers for tests are processes and sockets: the tests know the data",
	},
	{
		path: "internal/buildinfo",
		why:  "the Go tool stamps the version: it knows no package",
	},
	{
		path: "internal/server/redisurl", may: []string{"internal/task", "internal/store/redisstore", "internal/fileaccess", "internal/usage"}, tech: []string{"github.com/redis/rueidis"},
		why: "a URL and its errors: the use of the Redis is decided above",
	},
	{
		path: "internal/servertest", may: []string{"internal/activity", "internal/redact", "internal/task", "internal/wire"},
		why: "the shared parts of server tests know no server, so that each package can use them",
	},
	{
		path: "internal/servertest/pgtest", may: []string{"internal/redistest", failing},
		why: "servers for tests are processes and sockets: the tests know the data",
	},
	{
		path: "internal/redischeck", may: []string{"internal/bytesize", "internal/wire", "internal/task", "internal/store/redisstore"},
		why: "findings are a pure function of an examination and the settings: the store examines the servers",
	},
	{
		path: "internal/pgcheck", may: []string{"internal/wire", "internal/store/pgstore"}, tech: []string{"github.com/jackc/pgx/v5"},
		why: "doctor and foliot serve examine a server alike, and a store needs none of these statements",
	},
	{
		path: "docs",
		why:  "the pages are texts: a server embeds them",
	},
	{
		path: "internal/page",
		why:  "the page is a client of the public API: its files know nothing of the server",
	},
	{
		path: "internal/history", may: []string{"internal/task"}, tests: []string{"internal/store/memstore"},
		why: "the figures of the past are counted, summed and encoded here; a store only keeps their bytes",
	},
	{
		path: "internal/activity", may: []string{"internal/task"},
		why: "attempts are counted and kept here, with the time as an argument: this package does not know its readers",
	},
	{
		path: "internal/engine",
		may: []string{
			"internal/activity", "internal/dispatch", "internal/history", "internal/maintenance", "internal/settings", "internal/sparselog", "internal/store", "internal/task",
			"internal/trustedclock", "internal/wire",
		},
		tests: []string{"internal/engine/directory", "internal/engine/memory", "internal/engine/redis", "internal/redistest", "internal/store/redisstore"},
		why:   "a node is wired here for any program: the API, the sender and the stores are known to its users alone",
	},
	{
		path: "internal/engine/directory", may: []string{"internal/engine", "internal/store/pebblestore", "internal/task", "internal/wire"},
		why: "a program that uses only a directory links no other store",
	},
	{
		path: "internal/engine/memory", may: []string{"internal/engine", "internal/store/memstore"},
		why: "a program that uses only memory links no other store",
	},
	{
		path: "internal/engine/redis", may: []string{"internal/buildinfo", "internal/engine", "internal/redischeck", "internal/store/redisstore", "internal/wire"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "a program that uses only a Redis links no other store",
	},
	{
		path: "internal/engine/postgres", may: []string{"internal/buildinfo", "internal/engine", "internal/pgcheck", "internal/store/pgstore", "internal/wire"},
		why: "a program that uses only PostgreSQL links no other store",
	},
	{
		path: "internal/outgoing", may: []string{"internal/engine", "internal/task", "internal/webhook"},
		tests: []string{"internal/settings", "internal/store/memstore"},
		why:   "the server and programs send with the same secrets and the same closed addresses: neither the API nor a store is known here",
	},
	{
		path:  "internal/server/httpserver",
		may:   []string{"idle", "internal/fileaccess", "internal/tokenbucket", "internal/usage"},
		tech:  []string{"golang.org/x/net/http2"},                          // its tests speak in frames, as hostile clients do
		tests: []string{"internal/api", "internal/store", "internal/task"}, // a reply of the API that no client takes
		why:   "clients are served and bounded here, for any handler",
	},
	{
		path: "internal/server/config",
		may: []string{
			"internal/api", "internal/dispatch", "internal/engine", "internal/fileaccess", "internal/redact", "internal/server/httpserver", "internal/server/redisurl",
			"internal/store", "internal/store/pgstore", "internal/store/redisstore", "internal/task", "internal/telemetry/tracing", "internal/timespan", "internal/usage", "internal/webhook",
		},
		tech: []string{"github.com/alecthomas/kong", "go.yaml.in/yaml/v3"},
		why:  "a configuration is checked without opening a file or store, and holds the Config of each part: the package above makes a server of it",
	},
	{
		path: "internal/server",
		may: []string{
			"internal/api", "internal/buildinfo", "internal/dispatch", "internal/engine", "internal/fileaccess", "internal/outgoing", "internal/page", "internal/server",
			"internal/settings", "internal/sparselog", "internal/store", "internal/store/pebblestore", "internal/store/redisstore", "internal/task", "internal/telemetry",
			"internal/usage", "internal/webhook", "internal/wire",
		},
		tests: []string{"internal/redact"},
		why:   "a server is a node behind a listener: commands and their output belong to the command line",
	},
	{
		path: "test/embed", tech: append([]string{"github.com/jackc/pgx/v5"}, testTools...),
		tests: []string{".", "admin", "dir", "foliottest", "postgres", "redis", "internal/redistest", "internal/servertest/pgtest", "internal/store/pgstore"},
		why:   "a program is written as by a user, and driven from outside",
	},
	{
		path: "test/recipes", may: []string{failing},
		why: "it reads a page and the replies of a server: tests of the clients use it",
	},
	{
		path: "test/clients", tests: []string{"test/recipes"},
		why: "the packages of other languages are driven from outside, as by a user",
	},
	{
		path: "test/cgo",
		why:  "two builds of the binary are driven from outside",
	},
	{
		path: battery, may: []string{battery + "/harness", battery + "/scenario"}, tech: testTools,
		why: "main reads the flags and runs the scenarios, and knows no more of them",
	},
	{
		path: battery + "/verify", may: []string{"internal/wire"},
		why: "a verdict is a pure function of the logs: it starts nothing and knows no server",
	},
	{
		path: battery + "/harness/timing",
		why:  "waiting and repeating do not know the condition",
	},
	{
		path: battery + "/harness/journal",
		why:  "a journal is lines on a disk: its callers know the meaning",
	},
	{
		path: battery + "/harness/system", may: []string{battery + "/harness/timing"},
		why: "figures of any process are read here: the callers choose the process",
	},
	{
		path: battery + "/harness/receiver", tech: testTools,
		may: []string{battery + "/verify", battery + "/harness/timing", battery + "/harness/journal", battery + "/harness/system"},
		why: "a receiver is a server for callbacks: it knows neither the binary nor the scenarios",
	},
	{
		path: battery + "/harness", may: []string{"internal/wire", "internal/redistest", battery + "/verify", battery + "/harness"},
		why: "the harness starts what scenarios need: it knows no scenario, and no package of the server but the JSON's shapes",
	},
	{
		path: battery + "/scenario/...", may: []string{"any"}, tech: []string{"any"},
		why: "a scenario drives the binary from outside, or fills a store as the binary would",
	},
	{
		path: "internal/cli/doctor",
		may: []string{
			"client", "client/admin", "internal/cli/wording", "internal/fileaccess", "internal/redischeck",
			"internal/store/pebblestore", "internal/usage", "internal/wire",
		},
		why: "checks produce findings: flags and output are the command's",
	},
	{
		path: "internal/cli/wording", may: []string{"client/admin", "internal/timespan", "internal/wire"},
		why: "values become text here: each command chooses the text that it prints",
	},
	{
		path: "internal/cli/exit",
		may:  []string{"client", "internal/cli/wording", "internal/redact", "internal/usage", "internal/wire"},
		tech: []string{"github.com/alecthomas/kong"},
		why:  "an error is judged for any command: neither output nor flags are known here",
	},
	{
		path: "internal/cli/console",
		may:  []string{"internal/bytesize", "client", "internal/cli/exit", "internal/cli/wording", "internal/usage", "internal/wire"},
		tech: []string{"github.com/alecthomas/kong", "golang.org/x/term"},
		why:  "streams are read and written for any command",
	},
	{
		path: "internal/cli/flags",
		may:  []string{"client", "internal/cron", "internal/server/config", "internal/server/redisurl", "internal/task", "internal/timespan", "internal/usage", "internal/wire", "internal/wire/fields"},
		tech: []string{"github.com/alecthomas/kong"},
		why:  "values are parsed here and used elsewhere",
	},
	{
		path: "internal/cli/contexts",
		may:  []string{"internal/fileaccess", "internal/usage"},
		tech: []string{"go.yaml.in/yaml/v3", "github.com/cockroachdb/pebble/v2/vfs"}, // vfs locks a file on every system
		why:  "a file of the user is read and written here: the commands decide its contents",
	},
	{
		path: "internal/cli/connect",
		may:  []string{"client", "client/admin", "internal/buildinfo", "internal/cli/contexts", "internal/cli/wording", "internal/fileaccess", "internal/usage"},
		why:  "a client is opened here: the commands call it",
	},
	{
		path: "internal/cli/delivery",
		may:  []string{"client", "internal/cli/console", "internal/cli/exit", "internal/cli/wording", "internal/usage"},
		why:  "one task is followed through the client, for any command",
	},
	{
		path: "internal/cli/tasks",
		may: []string{
			"client", "internal/cli/console", "internal/cli/delivery", "internal/cli/exit", "internal/cli/flags", "internal/cli/wording",
			"internal/timespan", "internal/usage",
		},
		tests: []string{"internal/wire"},
		why:   "a command is a client of the server, and knows none of its packages",
	},
	{
		path: "internal/cli/transfer",
		may: []string{
			"internal/bytesize", "client", "client/admin", "internal/cli/apply", "internal/cli/connect", "internal/cli/console", "internal/cli/exit", "internal/cli/flags", "internal/cli/tasks",
			"internal/cli/wording", "internal/engine", "internal/engine/directory", "internal/engine/postgres", "internal/engine/redis", "internal/fileaccess", "internal/server/config", "internal/server/redisurl",
			"internal/store/migration", "internal/store/pebblestore", "internal/store/pebblestore/marker", "internal/store/pgstore", "internal/task", "internal/usage", "internal/wire",
		},
		tech: []string{"github.com/alecthomas/kong", "golang.org/x/sync"},
		why:  "records are carried over the client; only restore and migrate write a store",
	},
	{
		path: "internal/cli/manifest",
		may: []string{
			"client", "client/admin", "internal/api", "internal/cli/wording", "internal/cron", "internal/settings", "internal/task", "internal/task/recurrence", "internal/usage",
			"internal/wire",
		},
		tech: []string{"go.yaml.in/yaml/v3"},
		why:  "files are checked without a server, but by its code: the commands compare the objects with those of a server",
	},
	{
		path: "internal/cli/apply",
		may: []string{
			"client", "client/admin", "internal/cli/connect", "internal/cli/console", "internal/cli/exit", "internal/cli/flags", "internal/cli/manifest",
			"internal/cli/wording", "internal/redact", "internal/task", "internal/usage",
		},
		tech: []string{"github.com/alecthomas/kong"},
		why:  "a command is a client of the server, and compares its objects with those of files",
	},
	{
		path: "internal/cli/cron",
		may: []string{
			"client", "internal/cli/connect", "internal/cli/console", "internal/cli/delivery", "internal/cli/exit", "internal/cli/flags",
			"internal/cli/manifest", "internal/cli/tasks", "internal/cli/transfer", "internal/cli/wording", "internal/cron", "internal/crontab", "internal/redact",
			"internal/task", "internal/task/recurrence", "internal/usage",
		},
		tech: []string{"github.com/alecthomas/kong"},
		why:  "a command is a client of the server: it computes instants itself only for an expression or a crontab",
	},
	{
		path: "internal/cli/admin",
		may: []string{
			"client", "client/admin", "internal/cli/connect", "internal/cli/console", "internal/cli/contexts", "internal/cli/doctor", "internal/cli/exit", "internal/cli/flags",
			"internal/cli/wording", "internal/fileaccess", "internal/pgcheck", "internal/redischeck", "internal/server/config", "internal/settings", "internal/store/pebblestore",
			"internal/store/pgstore", "internal/store/redisstore", "internal/task", "internal/timespan", "internal/usage", "internal/wire", "internal/wire/fields",
		},
		tech: []string{"github.com/alecthomas/kong", "golang.org/x/term"},
		why:  "a command is a client of the server: a store is opened only for the first token, after a loss of Redis, and to make tables",
	},
	{
		path: "internal/cli/receive",
		may: []string{
			"client", "internal/cli/console", "internal/cli/delivery", "internal/cli/exit", "internal/cli/wording", "internal/fileaccess",
			"internal/server/httpserver", "internal/task", "internal/usage", "internal/wire", "webhook",
		},
		tech: []string{"golang.org/x/sync"},
		why:  "a receiver is a server of callbacks, and a client of Foliot",
	},
	{
		path: "internal/cli/demo",
		tech: []string{"golang.org/x/sync"},
		may:  []string{"client", "internal/cli/console", "internal/cli/delivery", "internal/cli/wording", "internal/server/httpserver", "internal/usage"},
		why:  "the demo uses the client and the binary as everybody",
	},
	{
		path: "internal/cli/completion",
		may:  []string{"internal/cli/console", "internal/cli/wording"},
		tech: []string{"github.com/alecthomas/kong"},
		why:  "completions are read from the model of the commands: no command is known by name",
	},
	{
		path: "internal/cli", may: []string{"any"}, tech: []string{"any"},
		why: "commands put everything together",
	},
	{
		path: "cmd/foliot", may: []string{"internal/cli"}, shipped: true,
		why: "the binary is the command line and nothing else",
	},
	{
		path: "examples/...", may: []string{".", "admin", "client", "dir", "foliottest", "idle", "metrics", "postgres", "redis", "remote", "traces", "webhook", "wheel"}, tech: []string{"any"},
		why: "an example is written as by a user, and a user cannot import internal packages",
	},
}

// testTools lists the modules that all tests may use. No shipped program links
// them.
var testTools = []string{
	"go.uber.org/goleak", "github.com/google/go-cmp", "pgregory.net/rapid", "github.com/anishathalye/porcupine",
	"github.com/standard-webhooks/standard-webhooks/libraries", "github.com/danielgtaylor/huma/v2",
}

// battery is the test program that drives the binary from outside. It links
// packages that only tests may use.
const battery = "test/battery"

// stores is the prefix of the stores. Only the packages of wiring and the
// battery may import them, even if the rows of other packages allow them. Tests
// of all packages may use the fakes.
const stores = "internal/store/"

// contracts is the package with the contract of all stores. A row that allows
// this package does not allow the packages below it.
const contracts = "internal/store"

var fakes = []string{"internal/store/memstore", "internal/store/storetest", "internal/redistest", "internal/servertest", "internal/servertest/pgtest", "internal/tasktest"}

// leaving and failing may be imported by the tests of all packages.
const leaving, failing = "internal/quick", "internal/fatal"

// wiring lists the packages that may import stores.
var wiring = []string{"internal/cli", "internal/cli/admin", "internal/cli/transfer", "internal/cli/doctor", "internal/server", "internal/server/config", "internal/pgcheck", "internal/redischeck", "internal/engine/directory", "internal/engine/memory", "internal/engine/postgres", "internal/engine/redis", "internal/server/redisurl", "internal/fileaccess", "postgres"}

// shared lists the packages below internal/store that are not stores: a row may
// allow them.
var shared = []string{"internal/store/pebblestore/marker", "internal/store/codec", "internal/store/kernel", "internal/store/lowwater", "internal/store/membership", "internal/store/migration", "internal/store/permits", "internal/store/quota", "internal/store/sqltask", "internal/store/redisstore/keyspace", "internal/store/serverclock", "internal/store/redisstore/redisconn", "internal/store/redisstore/registry", "internal/store/redisstore/records", "internal/store/redisstore/lanes", "internal/store/redisstore/identity", "internal/store/redisstore/scrub"}

// unlinked may be imported by tests alone.
var unlinked = []string{"internal/servertest", "internal/tasktest/permittest", "internal/store/storetest", battery, "internal/redistest", "test/prose", "test/recipes", "internal/tasktest", leaving, failing}
