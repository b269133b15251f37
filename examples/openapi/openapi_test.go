package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	esbuild "github.com/evanw/esbuild/pkg/api"
	"go.uber.org/goleak"

	"github.com/foliot/foliot/examples/internal/foliot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The programs of docs/clients.md use clients that are generated from the
// server's own document. They must print the output on the page.
func TestTheDocumentIsEnough(t *testing.T) {
	server := foliot.Start(t)
	var callbacks atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == `{"order":42}` || string(body) == `{"order": 42}` {
			callbacks.Add(1)
		}
	}))
	defer receiver.Close()
	document := fetch(t, server+"/openapi.json")
	const want = "the first is delivered with status 200\nthe second is cancelled before any attempt\n" +
		"the schedule fires at 21:00 on weekdays: 2030-11-20T21:00:00+01:00\nagain: 409 task_finished\n"
	for i, l := range []struct {
		lang, module, program, interpreter string
		prepare                            func(*testing.T, string) string
	}{
		{"python", "foliot.py", "program.py", "python3", nil},
		{"typescript", "foliot.ts", "program.ts", "node", compile},
	} {
		t.Run(l.lang, func(t *testing.T) {
			interpreter, err := exec.LookPath(l.interpreter)
			if err != nil {
				t.Skipf("%s is not on this machine", l.interpreter)
			}
			dir := t.TempDir()
			var written bytes.Buffer
			if err := run(strings.NewReader(document), &written, l.lang); err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(dir, l.program)
			source := theProgram(t, l.program)
			save(t, filepath.Join(dir, l.module), written.Bytes())
			save(t, program, source)
			if l.prepare != nil {
				program = l.prepare(t, program)
			}
			var stdout, stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), interpreter, program, server, receiver.URL)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil || stdout.String() != want {
				t.Errorf("%v; it printed\n%s%s", err, stdout.String(), stderr.String())
			}
			if n := callbacks.Load(); n != int64(i+1) {
				t.Errorf("%d callbacks, want %d", n, i+1)
			}
		})
	}
}

// compile removes the types of a program and joins its modules, because older
// versions of Node cannot run TypeScript.
func compile(t *testing.T, program string) string {
	t.Helper()
	out := strings.TrimSuffix(program, ".ts") + ".mjs"
	result := esbuild.Build(esbuild.BuildOptions{
		EntryPoints: []string{program}, Outfile: out, Bundle: true, Write: true,
		Format: esbuild.FormatESModule, Platform: esbuild.PlatformNode, Target: esbuild.ES2022,
	})
	for _, e := range result.Errors {
		t.Errorf("%s: %s", program, e.Text)
	}
	return out
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return string(body)
}

// theProgram returns a program, which the page must show unchanged.
func theProgram(t *testing.T, file string) []byte {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\n"+string(source)+"```\n") {
		t.Errorf("docs/clients.md does not show %s as it is", file)
	}
	return source
}

func save(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The generator refuses a document with a part that it does not know. It leaves
// no part out.
func TestAStrangeDocumentIsRefused(t *testing.T) {
	const problem = `"default": {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}`
	document := func(operation string) string {
		return fmt.Sprintf(`{"openapi": "3.1.0", "paths": {"/a": {"get": %s}}, "components": {"securitySchemes": {"cookie": {"type": "apiKey"}}}}`, operation)
	}
	for what, doc := range map[string]string{
		"no JSON":                  `<html>`,
		"another version":          `{"openapi": "3.0.3"}`,
		"no operation":             `{"openapi": "3.1.0"}`,
		"no name":                  document(`{"responses": {` + problem + `}}`),
		"a cookie":                 document(`{"operationId": "a", "parameters": [{"name": "c", "in": "cookie"}], "responses": {` + problem + `}}`),
		"another way to log in":    document(`{"operationId": "a", "security": [{"cookie": []}], "responses": {` + problem + `}}`),
		"errors of unknown shape":  document(`{"operationId": "a", "responses": {"200": {}}}`),
		"an error that is no such": document(`{"operationId": "a", "responses": {"400": {}, ` + problem + `}}`),
	} {
		if err := run(strings.NewReader(doc), io.Discard, "python"); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	if err := run(strings.NewReader(document(`{"operationId": "a", "responses": {"200": {}, `+problem+`}}`)), io.Discard, "typescript"); err != nil {
		t.Errorf("a good one is refused: %v", err)
	}
	if err := run(strings.NewReader("{}"), io.Discard, "cobol"); err == nil {
		t.Error("an unknown language is accepted")
	}
}

func FuzzRead(f *testing.F) {
	document, err := os.ReadFile(filepath.Join("..", "..", "internal", "api", "testdata", "openapi.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(document)
	f.Add([]byte(`{"openapi":"3.1.0","paths":{"/{a}":{"get":{"operationId":"a","parameters":[{"name":"a","in":"path"}],"responses":{"default":{"content":{"application/problem+json":{}}}}}}}}`))
	f.Fuzz(func(_ *testing.T, document []byte) {
		for _, lang := range []string{"typescript", "python"} {
			_ = run(bytes.NewReader(document), io.Discard, lang)
		}
	})
}
