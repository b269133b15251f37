package generators

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const document = "../../internal/api/testdata/openapi.json"

// openapi-typescript and its compiler come from npm.
const (
	openapiTypeScript = "openapi-typescript@7.13.0"
	typeScript        = "typescript@5.9.3"
)

func TestOgenAcceptsTheDocument(t *testing.T) {
	dir := packageDir(t)
	run(t, "go", "tool", "ogen", "--target", dir, "--package", "generated", document)
	run(t, "go", "build", "./"+dir)
}

func TestOapiCodegenAcceptsTheDocument(t *testing.T) {
	dir := packageDir(t)
	run(t, "go", "tool", "oapi-codegen", "-generate", "models,client", "-package", "generated", "-o", filepath.Join(dir, "client.go"), document)
	run(t, "go", "build", "./"+dir)
}

// The program sets only the members that a request needs: a member with a default would be
// required.
func TestOpenAPITypeScriptAcceptsTheDocument(t *testing.T) {
	if _, err := exec.LookPath("npx"); err != nil {
		t.Skip("npx is not on PATH: install Node")
	}
	dir := t.TempDir()
	run(t, "npx", "--yes", openapiTypeScript, document, "-o", filepath.Join(dir, "schema.d.ts"))
	program := `import type { components } from "./schema";
export const task: components["schemas"]["TaskInput"] = { delay: "1s", http: { url: "http://example.com/" } };
`
	if err := os.WriteFile(filepath.Join(dir, "program.ts"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "npx", "--yes", "--package", typeScript, "tsc", "--noEmit", "--strict", filepath.Join(dir, "program.ts"))
}

// packageDir returns a directory in this module, so that generated code finds its
// imports. The test removes it.
func packageDir(t *testing.T) string {
	dir, err := os.MkdirTemp(".", "generated")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}
