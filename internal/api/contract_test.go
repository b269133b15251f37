package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/foliot/foliot/internal/api"
)

// contract is the OpenAPI document, in a form that messages are checked with.
// service.send checks all of them: a client that validates must accept each reply,
// and must not refuse a request that the server accepts.
type contract struct {
	*huma.OpenAPI
	mux *http.ServeMux // finds the pattern of a request

	mu sync.Mutex // guards checks, because huma's schemas compute parts of themselves
}

var theContract = sync.OnceValue(func() *contract {
	c := &contract{OpenAPI: api.Document(), mux: http.NewServeMux()}
	for _, schema := range c.Components.Schemas.Map() {
		schema.PrecomputeMessages() // the schemas were changed after their messages were made
	}
	for path, item := range c.Paths {
		for method := range operations(item) {
			c.mux.HandleFunc(method+" "+path, http.NotFound)
		}
	}
	return c
})

func operations(item *huma.PathItem) map[string]*huma.Operation {
	all := map[string]*huma.Operation{"GET": item.Get, "PUT": item.Put, "POST": item.Post, "PATCH": item.Patch, "DELETE": item.Delete}
	maps.DeleteFunc(all, func(_ string, op *huma.Operation) bool { return op == nil })
	return all
}

// check compares a request and its reply with the document.
func (c *contract) check(t testing.TB, r *http.Request, sent []byte, got *httptest.ResponseRecorder) {
	t.Helper()
	_, pattern := c.mux.Handler(r)
	method, path, routed := strings.Cut(pattern, " ")
	if !routed || got.Body.Len() == 0 || r.Method == http.MethodHead {
		return
	}
	op := operations(c.Paths[path])[method]
	reply := op.Responses[strconv.Itoa(got.Code)]
	if reply == nil {
		reply = op.Responses["default"]
	}
	if reply == nil { // a public route
		return
	}
	if name, isRef := strings.CutPrefix(reply.Ref, "#/components/responses/"); isRef {
		reply = c.Components.Responses[name]
	}
	about := r.Method + " " + r.URL.RequestURI()
	if media, _, _ := strings.Cut(got.Header().Get("Content-Type"), ";"); reply.Content[media] == nil {
		t.Errorf("%s: the document has no %d with %s", about, got.Code, media)
	} else {
		c.compare(t, about+" replies", reply.Content[media].Schema, huma.ModeReadFromServer, got.Body.Bytes())
	}
	if body := op.RequestBody; got.Code < 300 && len(sent) > 0 && body != nil && op.OperationID != "createTasks" { // a batch may have refused items
		media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		if body.Content[media] != nil {
			c.compare(t, about+" was sent", body.Content[media].Schema, huma.ModeWriteToServer, sent)
		}
	}
}

func (c *contract) compare(t testing.TB, about string, schema *huma.Schema, mode huma.ValidateMode, text []byte) {
	t.Helper()
	var v any
	if schema == nil || schema.Type == huma.TypeString || json.Unmarshal(text, &v) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var result huma.ValidateResult
	huma.Validate(c.Components.Schemas, schema, huma.NewPathBuffer(nil, 0), mode, v, &result)
	for _, err := range result.Errors {
		if mode == huma.ModeWriteToServer && strings.Contains(err.Error(), "unexpected property") {
			continue // a PUT accepts what a GET shows, such as the name
		}
		t.Errorf("%s what the document excludes: %v", about, err)
	}
}

// Generators make a type of each component, and ogen refuses two of one name.
// Clients for languages that ignore case would have the same trouble.
func TestNoTwoNamesOfTheDocumentDifferOnlyInCase(t *testing.T) {
	doc := theContract()
	components := slices.Collect(maps.Keys(doc.Components.Schemas.Map()))
	components = slices.AppendSeq(components, maps.Keys(doc.Components.SecuritySchemes))
	oneCase(t, "the components", components)
	for name, schema := range doc.Components.Schemas.Map() {
		oneCase(t, name, slices.Collect(maps.Keys(schema.Properties)))
		// openapi-typescript makes a property with a default required, in requests too.
		for property, of := range schema.Properties {
			if of.Default != nil {
				t.Errorf("%s.%s has a default: describe it in words", name, property)
			}
		}
	}
	for path, item := range doc.Paths {
		for method, op := range operations(item) {
			var params []string
			for _, p := range op.Parameters {
				params = append(params, p.Name)
			}
			oneCase(t, method+" "+path, params)
		}
	}
}

func oneCase(t *testing.T, where string, names []string) {
	t.Helper()
	seen := map[string]string{}
	for _, name := range names {
		if other, twice := seen[strings.ToLower(name)]; twice {
			t.Errorf("%s: %s and %s", where, other, name)
		}
		seen[strings.ToLower(name)] = name
	}
}
