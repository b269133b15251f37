package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// A misspelled filter would silently match no task.
func TestAFilterAcceptsOnlyExistingWords(t *testing.T) {
	s := serve(t)
	constants := func(d ast.Node) []ast.Expr {
		if spec, ok := d.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return spec.Values
		}
		return nil
	}
	actions := func(d ast.Node) (found []ast.Expr) {
		if spec, ok := d.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Action") {
			return spec.Values
		}
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "Action" {
			return nil
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if r, ok := n.(*ast.ReturnStmt); ok {
				found = append(found, r.Results...)
			}
			return true
		})
		return found
	}
	for _, c := range []struct {
		target, name string
		words        []string
	}{
		{"GET /v1/tasks", "reason", words(t, constants, "../task/*.go", "../webhook/*.go")},
		{"POST /v1/tasks/retry", "reason", words(t, constants, "../task/*.go", "../webhook/*.go")},
		{"GET /v1/audit", "action", slices.DeleteFunc(words(t, actions, "../task/*.go", "../settings/*.go", "../store/*.go"), func(action string) bool {
			return slices.Contains([]string{"task.create", "task.replace", "task.purge", "schedule.check"}, action) // no person makes these one by one
		})},
	} {
		method, path, _ := strings.Cut(c.target, " ")
		for _, word := range c.words {
			s.do(method, path+"?"+c.name+"="+word, "").want(200, nil)
		}
		for _, wrong := range []string{"", "typo", strings.ToUpper(c.words[0])} {
			p := s.do(method, path+"?"+c.name+"="+wrong, "").problem(400, "bad_parameter", c.name)
			for _, word := range c.words {
				if !strings.Contains(p.Detail, word) {
					t.Errorf("%s: detail %q is without %s", c.target, p.Detail, word)
				}
			}
			if n := strings.Count(p.Detail, ","); n != len(c.words)-1 {
				t.Errorf("%s: detail has %d words, the code has %d: %s", c.target, n+1, len(c.words), p.Detail)
			}
		}
	}
}

// words returns the strings that choose finds in the declarations of some
// files.
func words(t *testing.T, choose func(ast.Node) []ast.Expr, patterns ...string) (list []string) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			fatal.If(t, err)
			ast.Inspect(f, func(n ast.Node) bool {
				for _, e := range choose(n) {
					if lit, ok := e.(*ast.BasicLit); ok {
						word, err := strconv.Unquote(lit.Value)
						fatal.If(t, err)
						if word != "" {
							list = append(list, word)
						}
					}
				}
				return true
			})
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) < 9 {
		t.Fatalf("found %v: check the search", list)
	}
	return list
}
