package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// manifest is a part of package.json.
type manifest struct {
	Version         string
	Dependencies    map[string]string
	DevDependencies map[string]string
}

func readManifest(t *testing.T, dir string) manifest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	fatal.If(t, err)
	var m manifest
	fatal.If(t, json.Unmarshal(text, &m))
	return m
}

func TestTheTypeScriptPackageWorksAsInstalled(t *testing.T) {
	const remedy = "install Node 20 or newer, which includes npm"
	node, npm := tool(t, "node", remedy), tool(t, "npm", remedy)
	quiet := []string{"--silent", "--no-audit", "--no-fund", "--no-package-lock"}
	npmIn := func(dir string, args ...string) { command(t, dir, nil, npm, append(args, quiet...)...) }

	source := sources(t, "typescript")
	command(t, source, nil, npm, "ci", "--silent", "--no-audit", "--no-fund") // the versions of package-lock.json, as a release
	t.Log(command(t, source, []string{"FOLIOT_BINARY=" + binary}, npm, "test"))
	npmIn(source, "pack")

	project := t.TempDir()
	save(t, filepath.Join(project, "package.json"), `{"type": "module", "private": true}`)
	checker := readManifest(t, source).DevDependencies
	npmIn(project, "install", one(t, source, "foliot-client-*.tgz"), "typescript@"+checker["typescript"], "@types/node@"+checker["@types/node"])
	installed := readManifest(t, filepath.Join(project, "node_modules", "@foliot", "client"))
	if len(installed.Dependencies) > 0 {
		t.Errorf("the package has dependencies: %v", installed.Dependencies)
	}

	program, want := example(t, "typescript", "ts")
	save(t, filepath.Join(project, "program.ts"), program)
	compile := []string{"--strict", "--module", "nodenext", "--types", "node", "program.ts"}
	if readme, err := os.ReadFile(filepath.Join(source, "README.md")); err != nil || !strings.Contains(string(readme), "npx tsc "+strings.Join(compile, " ")) {
		t.Errorf("the README compiles its program with another command than this test: %v", err)
	}
	command(t, project, nil, filepath.Join("node_modules", ".bin", "tsc"), compile...)
	recipesInTypeScript(t, project, node, compile[:len(compile)-1:len(compile)-1])
	env := serve(t)
	for range 2 { // a reader runs it again, on the same server
		if got := command(t, project, env, node, "program.js"); got != want {
			t.Errorf("the program of the README prints\n%s\nand not\n%s", got, want)
		}
	}
	// A CommonJS module can load the package, too.
	save(t, filepath.Join(project, "common.cjs"), "const { Client, webhook } = require('@foliot/client')\nprocess.stdout.write(typeof Client + typeof webhook.verify)\n")
	if got := command(t, project, nil, node, "--no-warnings", "common.cjs"); got != "functionfunction" {
		t.Errorf("require finds %s", got)
	}
	save(t, filepath.Join(project, "version.js"), "import { version } from '@foliot/client'\nprocess.stdout.write(version)\n")
	if got := command(t, project, nil, node, "version.js"); got != installed.Version {
		t.Errorf("the package exports version %q, and package.json has %q", got, installed.Version)
	}
}
