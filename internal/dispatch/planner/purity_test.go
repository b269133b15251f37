package planner

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// pureImports are the packages that this package may import. arch_table_test.go
// checks our own packages, and not the standard library.
var pureImports = []string{"fmt", "math", "slices", "time", "github.com/foliot/foliot/internal/settings", "github.com/foliot/foliot/internal/store", "github.com/foliot/foliot/internal/task"}

// clockFuncs are the functions of package time that read a clock or wait for
// one.
var clockFuncs = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// TestThePlannerIsPure: it reads no clock, starts no goroutine, takes no lock
// and uses no context. The one exception is a word that attempts read while the
// Planner may change it: see LimitLease.until.
func TestThePlannerIsPure(t *testing.T) {
	files, err := os.ReadDir(".")
	fatal.If(t, err)
	checked := 0
	for _, file := range files {
		name := file.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		fatal.If(t, err)
		checked++
		for _, impurity := range impurities(t, name, src) {
			if name == "limits_lease.go" && impurity == "imports sync/atomic" {
				continue
			}
			t.Errorf("%s %s", name, impurity)
		}
	}
	if checked < 10 {
		t.Errorf("only %d files were checked", checked)
	}
}

// impurities returns the statements of a file that a pure package must not
// have.
func impurities(t *testing.T, name string, src []byte) (found []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
	fatal.If(t, err)
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		fatal.If(t, err)
		if !slices.Contains(pureImports, path) {
			found = append(found, "imports "+path)
		}
		if spec.Name != nil {
			found = append(found, "renames the import "+path)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, "starts a goroutine")
		case *ast.ChanType:
			found = append(found, "uses a channel")
		case *ast.SelectStmt:
			found = append(found, "selects among channels")
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains(clockFuncs, n.Sel.Name) {
				found = append(found, "uses time."+n.Sel.Name)
			}
		}
		return true
	})
	return found
}
