package cli

import (
	"flag"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/alecthomas/kong"
	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/server/config"
)

// asBinary makes the test binary run Main. So tests of processes run the real
// program, compiled once and with the race detector.
const asBinary = "TEST_AS_FOLIOT"

func TestMain(m *testing.M) {
	if os.Getenv(asBinary) != "" {
		os.Exit(Main())
	}
	// The models of all commands are large: a third of the time was garbage
	// collection. With GOGC, servers in this process make no spare heap.
	debug.SetGCPercent(800)
	_ = os.Setenv("GOGC", "800")
	// Parallel tests wait for servers. -parallel overrides it. A test that frees a
	// port, and expects nobody or its next server there, must not be one of them.
	_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	takeParser = takeUsed
	for _, setting := range os.Environ() { // settings of the developer
		if name, _, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "FOLIOT_") {
			_ = os.Unsetenv(name)
		}
	}
	dir, err := os.MkdirTemp("", "foliot")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("XDG_CONFIG_HOME", dir) // contexts of the developer
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// usedParser is a parser that tests use again, and what command lines and help
// texts change in its model, as it was before the first of them.
type usedParser struct {
	*lineParser
	values map[*kong.Value][2]bool // Set and Active
	nodes  map[*kong.Node]kong.Node
}

// usedParsers has the parsers that are free. A sync.Pool would forget a quarter
// of them under the race detector, and all of them after two garbage collections.
var usedParsers struct {
	sync.Mutex
	free []*usedParser
}

func newUsedParser() *usedParser {
	p := &usedParser{newLineParser(), map[*kong.Value][2]bool{}, map[*kong.Node]kong.Node{}}
	err := kong.Visit(p.Model, func(v kong.Visitable, next kong.Next) error {
		switch v := v.(type) {
		case *kong.Value:
			p.values[v] = [2]bool{v.Set, v.Active}
		case *kong.Node:
			p.nodes[v] = *v
		}
		return next(nil)
	})
	if err != nil {
		panic(err)
	}
	p.nodes[p.Model.Node] = *p.Model.Node
	return p
}

func usedOrNewParser() *usedParser {
	usedParsers.Lock()
	defer usedParsers.Unlock()
	if n := len(usedParsers.free); n > 0 {
		p := usedParsers.free[n-1]
		usedParsers.free = usedParsers.free[:n-1]
		return p
	}
	return newUsedParser()
}

func (p *usedParser) release() {
	usedParsers.Lock()
	defer usedParsers.Unlock()
	usedParsers.free = append(usedParsers.free, p)
}

// takeUsed is takeParser for the tests. It resets the model, because kong does
// not.
func takeUsed() (*lineParser, func()) {
	p := usedOrNewParser()
	*p.line, *p.file = cli{}, config.Values{}
	for n, was := range p.nodes {
		n.Active, n.Flags, n.Aliases, n.Detail = was.Active, was.Flags, was.Aliases, was.Detail
	}
	for v, was := range p.values {
		v.Set, v.Active = was[0], was[1]
	}
	return p.lineParser, p.release
}

// parse parses a command line and does not run it.
func parse(args []string) error {
	p, release := takeUsed()
	defer release()
	p.Stdout, p.Stderr = io.Discard, io.Discard
	_, err := p.Parse(joinNegative(args))
	return err
}

// theModel has all commands and flags. No test changes it.
var theModel = sync.OnceValue(func() *kong.Application { return quietParser(new(cli)).Model })

// quietParser returns a parser that prints nothing.
func quietParser(line *cli) *kong.Kong {
	p := newParser(line, new(config.Values))
	p.Stdout, p.Stderr = io.Discard, io.Discard
	return p
}
