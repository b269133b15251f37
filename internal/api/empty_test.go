package api_test

import (
	"maps"
	"slices"
	"testing"
)

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
