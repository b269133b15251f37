package foliot

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
)

const module = "github.com/foliot/foliot"

// pkg is the part of the output of `go list -json` that check needs.
type pkg struct {
	ImportPath     string
	Dir            string
	Imports        []string
	TestImports    []string
	XTestImports   []string
	GoFiles        []string
	Lines          int      // of GoFiles; list does not fill it in
	IgnoredGoFiles []string // files with a build tag that is off: a tag must not hide an import
}

func TestEveryImportIsInTheTable(t *testing.T) {
	pkgs := packages(t)
	for i := range pkgs {
		pkgs[i].Imports = append(pkgs[i].Imports, hiddenImports(t, pkgs[i])...)
	}
	for _, broken := range check(layers, pkgs) {
		t.Error(broken)
	}
}

func TestNothingShippedReachesPackageTesting(t *testing.T) {
	quick.Leave(t, "reads all packages")
	existing := map[string]bool{}
	for _, p := range packages(t) {
		existing[p.ImportPath] = true
	}
	for _, l := range layers {
		root := module + "/" + l.path
		if !l.shipped || !existing[root] {
			continue
		}
		for _, p := range list(t, "-deps", "./"+l.path) {
			if slices.ContainsFunc(p.Imports, isTesting) && !isTesting(p.ImportPath) {
				t.Errorf("%s is linked into users' programs, and links %s, which imports package testing: testing helpers belong into _test.go files or into a package that only tests import", l.path, p.ImportPath)
			}
		}
	}
}

// listed has the packages of the module after the first call of packages.
var listed []pkg

// packages returns the packages of the module. The caller may change them.
func packages(t *testing.T) []pkg {
	t.Helper()
	if listed == nil {
		listed = list(t, "./...")
	}
	return slices.Clone(listed)
}

// list runs go list. It uses the go command that is first on PATH, which built
// this test.
func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{
		"list", "-buildvcs=false", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,GoFiles,IgnoredGoFiles",
	}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(&stdout); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("read go list's answer: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestEveryRowNamesAPackage(t *testing.T) {
	for _, row := range staleRows(layers, packages(t)) {
		t.Error(row)
	}
}

func TestNoPackageIsTooLarge(t *testing.T) {
	pkgs := packages(t)
	for i := range pkgs {
		pkgs[i].Lines = lines(t, pkgs[i])
	}
	for _, broken := range checkSizes(layers, pkgs) {
		t.Error(broken)
	}
}

// lines counts the lines of a package's files, without tests.
func lines(t *testing.T, p pkg) (sum int) {
	t.Helper()
	for _, name := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		fatal.If(t, err)
		sum += bytes.Count(text, []byte("\n"))
	}
	return sum
}

// hiddenImports reads the files that go list left out because of a build tag.
func hiddenImports(t *testing.T, p pkg) []string {
	t.Helper()
	var imports []string
	for _, name := range p.IgnoredGoFiles {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatalf("read the imports of %s: %v", name, err)
		}
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatalf("read the imports of %s: %v", name, err)
			}
			imports = append(imports, path)
		}
	}
	return imports
}
