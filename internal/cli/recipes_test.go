package cli

import (
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/test/recipes"
)

func TestTheRecipesInShellWork(t *testing.T) {
	url := serveHere(t, "--listen", anyPort, "--store", "memory:").url
	run := shell(t, "curl")
	for _, p := range recipes.In(t, "../..", "sh") {
		if out, err := run("curl() { command curl -fsS \"$@\"; }\n"+p.Code, "FOLIOT_SERVER="+url); err != nil {
			t.Fatalf("%s: %v:\n%s", p.Name, err, out)
		}
		p.Check(t, url)
	}
}

func TestTheRecipesInGoWork(t *testing.T) {
	url := serveHere(t, "--listen", anyPort, "--store", "memory:").url
	programs := recipes.In(t, "../..", "go")
	binary := buildTogether(t, programs)
	for i, p := range programs {
		cmd := exec.CommandContext(t.Context(), binary, fmt.Sprint(i))
		cmd.Env = append(os.Environ(), "FOLIOT_SERVER="+url)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v:\n%s", p.Name, err, out)
		}
		p.Check(t, url)
	}
}

// buildTogether links programs into one, which runs the program with the number
// of its argument: linking each would take longer. The files are in an overlay, so
// that they import the packages of this module.
func buildTogether(t *testing.T, programs []recipes.Program) (binary string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go")
	}
	root, err := filepath.Abs("../..")
	fatal.If(t, err)
	dir, files := t.TempDir(), map[string]string{}
	add := func(file, code string) {
		on := filepath.Join(dir, fmt.Sprintf("%d.go", len(files)))
		fatal.If(t, os.WriteFile(on, []byte(code), 0o600))
		files[filepath.Join(root, "test", "recipes", "all", filepath.FromSlash(file))] = on
	}
	var imports, calls strings.Builder
	for i, p := range programs {
		if formatted, err := format.Source([]byte(p.Code)); err != nil || string(formatted) != p.Code {
			t.Errorf("%s is not formatted: %v", p.Name, err)
		}
		inPackage := strings.NewReplacer("package main\n", fmt.Sprintf("package p%d\n", i), "func main()", "func Main()")
		add(fmt.Sprintf("p%d/p.go", i), inPackage.Replace(p.Code))
		fmt.Fprintf(&imports, "import p%d \"github.com/foliot/foliot/test/recipes/all/p%d\"\n", i, i)
		fmt.Fprintf(&calls, "case \"%d\":\np%d.Main()\n", i, i)
	}
	add("main.go", "package main\n\nimport \"os\"\n"+imports.String()+"\nfunc main() {\nswitch os.Args[1] {\n"+calls.String()+"}\n}\n")
	overlay, err := json.Marshal(map[string]any{"Replace": files})
	fatal.If(t, err)
	fatal.If(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	binary = filepath.Join(dir, "recipes")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, "./test/recipes/all")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}
