package cli

import (
	"io"
	"os"
	"runtime/debug"
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
	debug.SetGCPercent(800) // the models of all commands are large: a third of the time was garbage collection
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

// usedParser is a parser that tests use again, and the marks of its model
// before its first command line.
type usedParser struct {
	*lineParser
	values map[*kong.Value][2]bool // Set and Active
	nodes  map[*kong.Node]bool     // Active
}

// usedParsers has the parsers that are free. A sync.Pool would forget a quarter
// of them under the race detector, and all of them after two garbage collections.
var usedParsers struct {
	sync.Mutex
	free []*usedParser
}

func newUsedParser() *usedParser {
	p := &usedParser{newLineParser(), map[*kong.Value][2]bool{}, map[*kong.Node]bool{}}
	p.eachMark(func(v *kong.Value) { p.values[v] = [2]bool{v.Set, v.Active} }, func(n *kong.Node) { p.nodes[n] = n.Active })
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

// eachMark calls a function for each value and node of the model.
func (p *usedParser) eachMark(value func(*kong.Value), node func(*kong.Node)) {
	err := kong.Visit(p.Model, func(v kong.Visitable, next kong.Next) error {
		switch v := v.(type) {
		case *kong.Value:
			value(v)
		case *kong.Node:
			node(v)
		}
		return next(nil)
	})
	if err != nil {
		panic(err)
	}
	node(p.Model.Node)
}

// takeUsed is takeParser for the tests. It resets the marks of the model,
// because kong does not.
func takeUsed() (*lineParser, func()) {
	p := usedOrNewParser()
	*p.line, *p.file = cli{}, config.Values{}
	p.eachMark(func(v *kong.Value) { v.Set, v.Active = p.values[v][0], p.values[v][1] }, func(n *kong.Node) { n.Active = p.nodes[n] })
	return p.lineParser, p.release
}

// quietParser returns a parser that prints nothing.
func quietParser(line *cli) *kong.Kong {
	p := newParser(line, new(config.Values))
	p.Stdout, p.Stderr = io.Discard, io.Discard
	return p
}
