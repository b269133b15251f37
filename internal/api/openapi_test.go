package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
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

func TestTheReferenceOfTheAPIIsAsItWas(t *testing.T) {
	golden(t, "API", "reference.md", api.Reference())
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
	for _, code := range words(t, `(?:FieldError\{[^,\n]*, (?:Code: )?|\bbad\(|\tCode\w+ += )"(\w+)"`, "task", "settings") {
		if !strings.Contains(string(raw), `| `+code+` | `) {
			t.Errorf("code %s is not in the table", code)
		}
	}
}

// The document is compressed once, and not sent again to clients that have it.
func TestTheDocumentIsCompressedAndTagged(t *testing.T) {
	s := serve(t)
	plain := s.do("GET", "/openapi.json", "").want(200, nil)
	if plain.header.Get("Content-Encoding") != "" || plain.header.Get("ETag") == "" || plain.header.Get("Vary") != "Accept-Encoding" {
		t.Error(plain.header)
	}
	for accepts, compressed := range map[string]bool{"gzip": true, "br, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0": false, "deflate": false, "xgzip": false} {
		r := s.do("GET", "/openapi.json", "", "Accept-Encoding: "+accepts).want(200, nil)
		if (r.header.Get("Content-Encoding") == "gzip") != compressed {
			t.Errorf("%s: %v", accepts, r.header)
		}
		if !compressed {
			continue
		}
		zr, err := gzip.NewReader(bytes.NewReader(r.body))
		fatal.If(t, err)
		if got, err := io.ReadAll(zr); err != nil || !bytes.Equal(got, plain.body) || len(r.body) > len(plain.body)/4 {
			t.Errorf("%d bytes of %d, %v", len(r.body), len(plain.body), err)
		}
	}
	if r := s.do("GET", "/openapi.json", "", "If-None-Match: "+plain.header.Get("ETag")); r.status != 304 || len(r.body) != 0 {
		t.Errorf("%d with %d bytes", r.status, len(r.body))
	}
}

// A script whose variable is empty must not change everything: an empty value is
// not the absence of a value. The test sends one to every parameter of the document.
func TestAnEmptyParameterIsRefusedOnEveryRoute(t *testing.T) {
	s := serve(t)
	s.do("POST", "/v1/tasks", hour).task(201)
	sent := 0
	for path, item := range theContract().Paths {
		for method, op := range operations(item) {
			for _, p := range op.Parameters {
				if p.In != "query" {
					continue
				}
				sent++
				target := inPath.ReplaceAllString(path, "a") + "?" + p.Name + "="
				if p.Name != "all" && method == "POST" {
					target += "&all=true"
				}
				body := ""
				if op.RequestBody != nil {
					body = "{}"
				}
				if r := s.do(method, target, body); r.status != 400 && r.status != 501 {
					t.Errorf("%s %s: %d %s", method, target, r.status, r.body)
				}
			}
		}
	}
	if got := s.record("a").State.String(); sent < 60 || got != "scheduled" {
		t.Errorf("the task is %s after %d parameters, of %v", got, sent, slices.Sorted(maps.Keys(theContract().Paths)))
	}
}

// A route must not ignore a body: its sender expects that it has an effect.
func TestARouteWithoutADescribedBodyRefusesOne(t *testing.T) {
	s := serve(t)
	for path, item := range theContract().Paths {
		for method, op := range operations(item) {
			if op.RequestBody == nil && method != "GET" {
				s.do(method, inPath.ReplaceAllString(path, "none"), `{"n": 1}`).problem(400, "unexpected_body", "")
			}
		}
	}
}
