package api_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
)

var update = flag.Bool("update", os.Getenv("UPDATE_GOLDEN") != "", "rewrite testdata")

func TestTheOpenAPIDocumentIsAsItWas(t *testing.T) {
	described, err := api.Describe()
	fatal.If(t, err)
	golden(t, "API", "openapi.json", string(described))
	served := string(serve(t).do("GET", "/openapi.json", "").want(200, nil).body)
	if want := strings.Replace(string(described), `"version": "dev"`, `"version": "test"`, 1); served != want {
		t.Errorf("the server serves another document: %s", cmp.Diff(want, served))
	}
}

// golden compares a text with a file: programs and people rely on the text. run
// is the value of RUN with which make golden writes the file.
func golden(t *testing.T, run, file, got string) {
	t.Helper()
	if *update {
		fatal.If(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	fatal.If(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-is +should be); if the change is meant, `make golden PKG=./internal/api RUN=%s` writes it:\n%s", file, run, diff)
	}
}

// document is the part of OpenAPI that the tests check.
type document struct {
	OpenAPI    string
	Paths      map[string]map[string]operation
	Components struct{ Schemas, Responses, SecuritySchemes map[string]any }
}

type operation struct {
	OperationID string
	Responses   map[string]any
	Parameters  []struct{ Name, In, Description string }
	Security    []map[string][]string
}

// openAPI returns the document that a server serves. No test changes it.
func openAPI(t *testing.T) (doc document, raw []byte) {
	t.Helper()
	theDocument.once.Do(func() {
		theDocument.raw = serve(t).do("GET", "/openapi.json", "").want(200, nil).body
		fatal.If(t, json.Unmarshal(theDocument.raw, &theDocument.document))
	})
	return theDocument.document, theDocument.raw
}

// theDocument is made once, because that takes a tenth of a second.
var theDocument struct {
	document
	once sync.Once
	raw  []byte
}

// inPath matches the variable part of a path.
var inPath = regexp.MustCompile(`\{\w+\}`)

func TestEveryDescribedRouteIsServed(t *testing.T) {
	s := serve(t)
	doc, _ := openAPI(t)
	n := 0
	for path, operations := range doc.Paths {
		for method, op := range operations {
			n++
			r := s.do(strings.ToUpper(method), inPath.ReplaceAllString(path, "none"), "")
			if strings.Contains(string(r.body), `"code":"no_route"`) || r.status == 405 {
				t.Errorf("%s %s (%s): %d %s", method, path, op.OperationID, r.status, r.body)
			}
			if op.Responses["default"] == nil || op.OperationID == "" {
				t.Errorf("%s %s: %+v", method, path, op)
			}
			if name := inPath.FindString(path); name != "" && (len(op.Parameters) == 0 || op.Parameters[0].In != "path" || "{"+op.Parameters[0].Name+"}" != name || op.Parameters[0].Description == "") {
				t.Errorf("%s %s does not describe its name", method, path)
			}
		}
	}
	if n != 59 {
		t.Errorf("%d routes are described", n)
	}
}

// Package task may get a code without a status in this package.
func TestEveryCodeOfTheDomainHasAStatus(t *testing.T) {
	_, raw := openAPI(t)
	files, err := filepath.Glob("../task/*.go")
	more, failed := filepath.Glob("../settings/*.go")
	if err != nil || failed != nil || len(files) == 0 || len(more) == 0 {
		t.Fatal(err, failed, files, more)
	}
	files = append(files, more...)
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, code := range codesIn(t, name) {
			found++
			if !strings.Contains(string(raw), `| `+code+` | `) {
				t.Errorf("%s: code %s is not in the table", name, code)
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d codes: check the search", found)
	}
}

// codesIn returns the codes of the FieldErrors in a file.
func codesIn(t *testing.T, name string) (codes []string) {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	fatal.If(t, err)
	ast.Inspect(f, func(n ast.Node) bool {
		var args []ast.Expr
		switch n := n.(type) {
		case *ast.CompositeLit:
			id, ok := n.Type.(*ast.Ident)
			if s, qualified := n.Type.(*ast.SelectorExpr); qualified {
				id, ok = s.Sel, true
			}
			if ok && id.Name == "FieldError" && len(n.Elts) == 3 {
				args = n.Elts[1:2]
				if kv, keyed := n.Elts[1].(*ast.KeyValueExpr); keyed {
					args = []ast.Expr{kv.Value}
				}
			}
		case *ast.CallExpr: // a call of a helper that adds the path
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "bad" {
				args = n.Args[:1]
			}
		case *ast.ValueSpec:
			if strings.HasPrefix(n.Names[0].Name, "Code") {
				args = n.Values
			}
		}
		for _, a := range args {
			if lit, ok := a.(*ast.BasicLit); ok {
				code, err := strconv.Unquote(lit.Value)
				fatal.If(t, err)
				codes = append(codes, code)
			}
		}
		return true
	})
	return codes
}
