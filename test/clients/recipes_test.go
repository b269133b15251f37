package clients

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/test/recipes"
)

// recipesInTypeScript runs the programs of docs/recipes.md in a project in which
// the package is installed. compile has the flags of the compiler.
func recipesInTypeScript(t *testing.T, project, node string, compile []string) {
	t.Helper()
	programs := recipes.In(t, root, "ts")
	for _, p := range programs {
		save(t, filepath.Join(project, p.Name+".ts"), p.Code)
		compile = append(compile, p.Name+".ts")
	}
	command(t, project, nil, filepath.Join("node_modules", ".bin", "tsc"), compile...)
	env := serve(t)
	for _, p := range programs {
		command(t, project, env[:1], node, p.Name+".js")
		p.Check(t, strings.TrimPrefix(env[0], "FOLIOT_SERVER="))
	}
}

func TestTheRecipesOfTheDocsInPythonWork(t *testing.T) {
	python := tool(t, "python3", "install Python 3.10 or newer")
	source, err := filepath.Abs(filepath.Join(root, "clients", "python", "src"))
	fatal.If(t, err)
	for _, language := range []string{"python", "asyncio"} {
		env, dir := serve(t), t.TempDir()
		for _, p := range recipes.In(t, root, language) {
			save(t, filepath.Join(dir, p.Name+".py"), p.Code)
			command(t, dir, []string{env[0], "PYTHONPATH=" + source}, python, p.Name+".py")
			p.Check(t, strings.TrimPrefix(env[0], "FOLIOT_SERVER="))
		}
	}
}
