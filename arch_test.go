package foliot

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/foliot/foliot"

// layer is one line of the import table: a package of ours and what it may
// import beside the standard library, which is free to all.
type layer struct {
	path string   // relative to the module; "examples/..." stands for all below
	may  []string // packages of ours; "any" for all of them
	tech []string // modules of others, by prefix; "any" for all of them
	why  string   // printed when the line is broken

	tests []string // packages of ours that its tests alone may import too

	shipped bool // linked into what users run or import: must not reach package testing
}

// layers is the whole table. A package that is not here fails the test, so that
// a new one is placed by decision and not by accident.
var layers = []layer{
	{path: ".", why: "the root holds no code"},
	{
		path: "wheel", shipped: true,
		why: "the engine is a library: whoever imports it must not inherit anything from us or from others",
	},
	{
		path: "idle", may: []string{"wheel"}, shipped: true,
		why: "idle is a library on top of the engine: the standard library and wheel are its whole cost",
	},
	{
		path: "client", may: []string{"internal/wire"}, shipped: true,
		tests: []string{"internal/api", "internal/task", "internal/store/memstore"}, // against the server as it is
		why:   "the client is a library: it speaks the wire format and knows nothing of the server's inside",
	},
	{
		path: "internal/task", may: []string{"internal/cron"}, // a schedule's rule: which instant comes is decided inside a transition
		tech: []string{"golang.org/x/net/idna"}, // a receiver has one lane, in every alphabet of its name
		why:  "the domain stands below everything: an import here would tie each store and each layer to it",
	},
	{
		path: "internal/wire",
		why:  "the JSON's shapes are linked into the client: they know neither rules nor the server",
	},
	{
		path: "internal/spelling",
		why:  "which of some words was meant is a pure function of the words",
	},
	{
		path: "internal/usage", may: []string{"internal/spelling"},
		why: "an error about a flag is words: every package that reads one may return it",
	},
	{
		path:  "internal/redact",
		tests: []string{"internal/task"}, // tokens and secrets as they are made
		why:   "a secret is recognised by its form alone",
	},
	{
		path: "internal/fileaccess", may: []string{"internal/usage", "internal/store/pebblestore"}, // which marks its directories
		why: "the access to a file is a fact of the system: what the file holds is its reader's business",
	},
	{
		path: "internal/cron", may: []string{"internal/spelling"},
		why: "a calendar is a pure function of the time and a rule: it knows neither tasks nor stores",
	},
	{
		path: "internal/crontab", may: []string{"internal/cron"},
		why: "what a file of another program says is judged by itself: what becomes of it is the command line's business",
	},
	{
		path: "internal/trusted",
		why:  "a clock is a function of two others: its callers decide which things end by it",
	},
	{
		path: "internal/dispatch/planner", may: []string{"internal/task"},
		tests: []string{"internal/dispatch/permittest"},
		why:   "the planner is a pure function of the time, the hints and the reads: what it imports is pure as well, so neither a clock, a timer nor a store can get in",
		// It has more than 2,500 lines. Each pick looks at lanes, queues, destinations, slots and
		// limits, and each end of an attempt changes all of them: parts of it in other packages
		// would have to show each other all their fields.
	},
	{
		path: "internal/dispatch/permittest", may: []string{"internal/task"},
		why: "the model of shared limits knows the contract alone: if it knew the planner, that would be its measure",
	},
	{
		path: "internal/dispatch", may: []string{"wheel", "internal/task", "internal/dispatch/planner"},
		tests: []string{"internal/store/redisstore", "internal/trusted", "internal/dispatch/permittest"}, // limits that several dispatchers share; a clock as the server has it
		why:   "dispatch knows the engine and the domain; stores and deliveries reach it as interfaces and functions, so that each can be replaced in a test",
	},
	{
		path: "internal/maintenance", may: []string{"internal/task"},
		tests: []string{"internal/dispatch", "internal/trusted"}, // what becomes of schedules and tokens when the clock is set
		why:   "background work uses the store's contract, like every other caller",
	},
	{
		path: "internal/webhook", may: []string{"internal/task"}, tech: []string{"code.dny.dev/ssrf"},
		why: "an attempt is a function from a task to an outcome: it does not know the source of tasks or the use of outcomes",
	},
	{
		path: "internal/api/decode", may: []string{"internal/task"},
		why: "strict JSON is a format: it knows the domain's field errors and limits, and no type of the API",
	},
	{
		path: "internal/api", may: []string{"internal/api/decode", "internal/task", "internal/wire", "internal/cron", "internal/spelling"}, tech: []string{"github.com/danielgtaylor/huma/v2"},
		why: "the API speaks to the domain's contracts: a store or the dispatcher named here could not be exchanged",
	},
	{
		path: "internal/telemetry/metrics", may: []string{"internal/task"}, tech: []string{"github.com/prometheus"},
		why: "other parts call plain functions, and closures provide values: no part of the server needs to know Prometheus",
	},
	{
		path: "internal/telemetry/tracing", may: []string{"internal/task"},
		tech: []string{"go.opentelemetry.io", "google.golang.org/protobuf/proto", "golang.org/x/net/http/httpguts"},
		why:  "OpenTelemetry is heavy, and off by default: it stays behind a few functions",
	},
	{
		path: "internal/dashboard",
		why:  "the dashboard is a page over the public API: what it cannot do with that, others cannot do either",
	},
	{
		path: "internal/store/memstore", may: []string{"internal/task"},
		why: "the reference is judged by reading it: a map, a mutex and the domain",
	},
	{
		path: "internal/store/codec", may: []string{"internal/task", "internal/cron"}, tech: []string{"google.golang.org/protobuf/encoding/protowire"},
		why: "bytes are a pure function of the record: the same in each store that keeps some",
	},
	{
		path: "internal/store/marks", may: []string{"internal/task"},
		why: "marks are arithmetic under a lock: what the index is kept in is the store's business",
	},
	{
		path: "internal/store/pebblestore", may: []string{"internal/task", "internal/store/codec", "internal/store/marks"},
		tech: []string{"github.com/cockroachdb/pebble/v2"},
		why:  "a store is the domain's contract in one technology; the rules that two stores share belong to internal/task, the rest to codec and marks",
	},
	{
		path: "internal/store/redisstore/keyspace", may: []string{"internal/task", "internal/store/codec"},
		why: "a key's name is a pure function of what lies there: all packages of the store in Redis use the same names",
	},
	{
		path:  "internal/store/redisstore/serverclock",
		tests: []string{"internal/trusted"}, // what becomes of the time of expiry when a server's clock is set
		why:   "the clocks of servers are a function of their answers: who asks them is above",
	},
	{
		// 2,600 lines in 18 files: a write needs its batch, its retry, the master's state and its durability,
		// and each of them is a method of Servers. A cut would export the fields of Servers.
		path: "internal/store/redisstore/redisconn", may: []string{"internal/task", "internal/store/codec", "internal/store/redisstore/keyspace", "internal/store/redisstore/serverclock"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "connections, retries and durability are the same whatever a script writes: records, settings and shard leases are above",
	},
	{
		path: "internal/store/redisstore/membership", may: []string{"internal/task", "internal/store/codec", "internal/store/marks", "internal/store/redisstore/keyspace", "internal/store/redisstore/redisconn"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "which node owns a shard follows from heartbeats and leases: what lies in the shard is the store's, which it calls back",
	},
	{
		path: "internal/store/redisstore/records", may: []string{"internal/task", "internal/store/codec", "internal/store/redisstore/keyspace", "internal/store/redisstore/redisconn"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "how a record lies in its keys follows from the record alone: who changes it, and why, is above",
	},
	{
		path: "internal/store/redisstore/lanes", may: []string{"internal/task", "internal/store/codec", "internal/store/marks", "internal/store/redisstore/keyspace", "internal/store/redisstore/redisconn", "internal/store/redisstore/membership"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "what waits in a shard is found in its index of lanes: the records that put it there are the store's",
	},
	{
		path: "internal/store/redisstore/audit", may: []string{"internal/task", "internal/store/codec", "internal/store/redisstore/keyspace", "internal/store/redisstore/redisconn", "internal/store/redisstore/membership"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "the audit log is read and trimmed by itself: scripts of others append to it",
	},
	{
		path: "internal/store/redisstore/identity", may: []string{"internal/task", "internal/store/codec", "internal/store/redisstore/keyspace", "internal/store/redisstore/redisconn", "internal/store/redisstore/membership"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "which store lies in the servers is asked before there is a store, and by a doctor that opens none",
	},
	{
		path: "internal/store/redisstore/scrub", may: []string{"internal/task", "internal/store/codec", "internal/store/redisstore/keyspace", "internal/store/redisstore/redisconn", "internal/store/redisstore/membership", "internal/store/redisstore/lanes", "internal/store/redisstore/records"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "repairs look at keys, not at calls: what they need of the store is one function",
	},
	{
		// 3,000 lines in 21 files: a step reads, applies, puts and learns in one loop, with the quotas, the
		// fences and the settings of its moment. They lock and change each other.
		path: "internal/store/redisstore", may: []string{"internal/task", "internal/trusted", "internal/store/codec", "internal/store/marks", "internal/store/redisstore/keyspace", "internal/store/redisstore/redisconn", "internal/store/redisstore/membership", "internal/store/redisstore/records", "internal/store/redisstore/lanes", "internal/store/redisstore/audit", "internal/store/redisstore/identity", "internal/store/redisstore/scrub"},
		tech: []string{"github.com/redis/rueidis"},
		why:  "a store is the domain's contract in one technology; the rules that two stores share belong to internal/task, the rest to codec and marks",
	},
	{
		path: "internal/store/storetest", may: []string{"internal/task"}, tech: testTools,
		why: "the suite knows the contract alone: if it knew a store, that store would be its measure",
	},
	{
		path: "internal/prose",
		why:  "the measure of our English reads files: if it knew a package, it could not judge all alike",
	},
	{
		path: "internal/redistest",
		why:  "servers for tests are processes and sockets: what is stored in them is the tests' business",
	},
	{
		path: "internal/original", tech: []string{"github.com/redis/rueidis"},
		tests: []string{"internal/task", "internal/dispatch", "internal/store/redisstore"}, // what ours do in the same place
		why:   "what was there before is measured beside ours and seen failing: neither knows the other",
	},
	{
		path: "internal/buildinfo",
		why:  "the version is what the Go tool stamped: it knows no package",
	},
	{
		path: "internal/server/redisurl", may: []string{"internal/task", "internal/store/redisstore", "internal/fileaccess", "internal/usage"}, tech: []string{"github.com/redis/rueidis"},
		why: "a URL and its errors: the packages above decide how a server uses its Redis",
	},
	{
		path: "internal/servertest", may: []string{"internal/redact"},
		why: "what tests of servers share knows no server, so that each of their packages can use it",
	},
	{
		path: "internal/redischeck", may: []string{"internal/wire", "internal/task", "internal/store/redisstore"},
		why: "findings are a pure function of an examination and the settings: the store examines the servers",
	},
	{
		path: "internal/node",
		may: []string{
			"internal/api", "internal/buildinfo", "internal/dispatch", "internal/redischeck", "internal/store", "internal/task", "internal/telemetry", "internal/trusted",
			"internal/maintenance", "internal/webhook", "internal/wire",
		},
		why: "a node is wired here: flags, listeners and certificates belong to the server in front of it",
	},
	{
		path:  "internal/server/httpserver",
		may:   []string{"idle", "internal/fileaccess", "internal/telemetry/metrics", "internal/usage"},
		tech:  []string{"golang.org/x/net/http2"},        // its tests speak in frames, as hostile clients do
		tests: []string{"internal/api", "internal/task"}, // a reply of the API that nobody takes
		why:   "this package serves and bounds clients for any handler",
	},
	{
		path: "internal/server/config",
		may: []string{
			"internal/fileaccess", "internal/redact", "internal/server/httpserver", "internal/server/redisurl", "internal/store/redisstore",
			"internal/task", "internal/usage",
		},
		tech: []string{"github.com/alecthomas/kong", "go.yaml.in/yaml/v3"},
		why:  "a configuration is checked without opening a file or store: the package above makes a server of it",
	},
	{
		path: "internal/server",
		may: []string{
			"internal/buildinfo", "internal/fileaccess", "internal/node", "internal/server", "internal/store/pebblestore", "internal/store/redisstore",
			"internal/telemetry/tracing", "internal/usage", "internal/webhook",
		},
		tests: []string{"internal/api", "internal/redact", "internal/task", "internal/wire", "internal/store/pebblestore"},
		why:   "a server is a node, a listener and the parts between them: commands and their output belong to internal/cli",
	},
	{
		path: battery, may: []string{battery + "/harness", battery + "/scenario"}, tech: testTools,
		why: "main reads the flags and runs the scenarios: what they do is theirs",
	},
	{
		path: battery + "/verify", may: []string{"internal/wire"},
		why: "a verdict is a pure function of the logs: it starts nothing and knows no server",
	},
	{
		path: battery + "/harness/timing",
		why:  "waiting and repeating know nothing of what is waited for",
	},
	{
		path: battery + "/harness/journal",
		why:  "a journal is lines on a disk: what they mean is its callers' business",
	},
	{
		path: battery + "/harness/system", may: []string{battery + "/harness/timing"},
		why: "the operating system is asked about any process",
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
			"client", "internal/cli/wording", "internal/fileaccess", "internal/node", "internal/redischeck", "internal/server/config",
			"internal/server/redisurl", "internal/store/pebblestore", "internal/store/redisstore", "internal/usage", "internal/webhook", "internal/wire",
		},
		why: "checks produce findings: flags and output are the command's",
	},
	{
		path: "internal/cli/wording", may: []string{"client", "internal/wire"},
		why: "values become text here: which text a command prints is its own business",
	},
	{
		// It is large: some sixty commands, a file for each, which share the console,
		// the filters and the flags of a task.
		path: "internal/cli", may: []string{"any"}, tech: []string{"any"},
		why: "commands put everything together",
	},
	{
		path: "cmd/foliot", may: []string{"internal/cli"}, shipped: true,
		why: "the binary is the command line and nothing else",
	},
	{
		path: "examples/...", may: []string{"wheel", "idle", "client"}, tech: []string{"any"},
		why: "an example shows what a user can do: a user cannot import internal packages",
	},
}

// testTools is what tests may use everywhere: it is linked into nothing we ship.
var testTools = []string{
	"go.uber.org/goleak", "github.com/google/go-cmp", "pgregory.net/rapid", "github.com/anishathalye/porcupine",
	"github.com/standard-webhooks/standard-webhooks/libraries",
}

// battery is the test program that drives the binary from outside. It links what
// only tests may use.
const battery = "test/battery"

// stores are named by the packages of wiring and the battery alone, whatever another importer's
// own line says. In tests the reference store is the fake everybody uses, and
// the suite is there to be run.
const stores = "internal/store/"

var fakes = []string{"internal/store/memstore", "internal/store/storetest", "internal/redistest", "internal/servertest"}

// wiring lists the packages that may name stores: the binary, and what it is
// made of.
var wiring = []string{"internal/cli", "internal/cli/doctor", "internal/server", "internal/server/config", "internal/redischeck", "internal/node", "internal/server/redisurl", "internal/fileaccess"}

// shared is what stands below internal/store without being a store: whoever's
// line allows it may import it.
var shared = []string{"internal/store/codec", "internal/store/marks", "internal/store/redisstore/keyspace", "internal/store/redisstore/serverclock", "internal/store/redisstore/redisconn", "internal/store/redisstore/membership", "internal/store/redisstore/records", "internal/store/redisstore/lanes", "internal/store/redisstore/audit", "internal/store/redisstore/identity", "internal/store/redisstore/scrub"}

// unlinked may be imported by tests alone.
var unlinked = []string{"internal/servertest", "internal/dispatch/permittest", "internal/store/storetest", battery, "internal/redistest", "internal/original", "internal/prose"}

// pkg is what `go list -json` says about a package, and what check needs.
type pkg struct {
	ImportPath     string
	Dir            string
	Imports        []string
	TestImports    []string
	XTestImports   []string
	IgnoredGoFiles []string // files behind a build tag that is off: a tag must not hide an arrow
}

func TestEveryImportIsInTheTable(t *testing.T) {
	pkgs := list(t, "./...")
	for i := range pkgs {
		pkgs[i].Imports = append(pkgs[i].Imports, hiddenImports(t, pkgs[i])...)
	}
	for _, broken := range check(layers, pkgs) {
		t.Error(broken)
	}
}

func TestNothingShippedReachesPackageTesting(t *testing.T) {
	existing := map[string]bool{}
	for _, p := range list(t, "./...") {
		existing[p.ImportPath] = true
	}
	for _, l := range layers {
		root := module + "/" + l.path
		if !l.shipped || !existing[root] {
			continue
		}
		if chain := reach(list(t, "-deps", "./"+l.path), root, isTesting); chain != nil {
			t.Errorf("%s is linked into what users run, and reaches package testing:\n\t%s\nTesting helpers belong into _test.go files or into a package that only tests import.",
				l.path, strings.Join(chain, "\n\t→ "))
		}
	}
}

// list runs go list: the one that this test was built by is the first on PATH.
func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{
		"list", "-buildvcs=false", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,IgnoredGoFiles",
	}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(&stdout); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("read go list's answer: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

// hiddenImports reads the files that go list left out because of a build tag.
func hiddenImports(t *testing.T, p pkg) []string {
	t.Helper()
	var imports []string
	for _, name := range p.IgnoredGoFiles {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatalf("read the imports of %s: %v", name, err)
		}
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatalf("read the imports of %s: %v", name, err)
			}
			imports = append(imports, path)
		}
	}
	return imports
}
