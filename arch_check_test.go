package foliot

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// check returns one sentence for each import that the table forbids, and one for
// each package without a row.
func check(table []layer, pkgs []pkg) []string {
	var broken []string
	for _, p := range pkgs {
		from := relative(p.ImportPath)
		l, known := lookup(table, from)
		if !known {
			broken = append(broken, fmt.Sprintf("%s is not in the import table: give it a row in layers (arch_table_test.go) with the imports that it may have, and the reason", from))
			continue
		}
		for _, to := range p.Imports {
			if reason := l.forbids(from, to); reason != "" {
				broken = append(broken, fmt.Sprintf("%s must not import %s: %s", from, relative(to), reason))
			}
		}
		for _, to := range slices.Concat(p.TestImports, p.XTestImports) {
			if reason := l.forbidsInTests(from, to); reason != "" {
				broken = append(broken, fmt.Sprintf("a test of %s must not import %s: %s", from, relative(to), reason))
			}
		}
	}
	return broken
}

// forbids returns the reason why the package from, which has the row l, must not
// import the package to. It returns "" if the import is allowed.
func (l layer) forbids(from, to string) string {
	if isStd(to) || to == "C" {
		return ""
	}
	if !isOurs(to) {
		if allows(l.tech, to) {
			return ""
		}
		return l.why
	}
	to = relative(to)
	switch {
	case allows(unlinked, to) && !allows(unlinked, from) && !inBattery(from):
		return "it is for tests, and reaches package testing"
	case strings.HasPrefix(to, stores) && !slices.Contains(shared, to) && !slices.Contains(wiring, from) && !inBattery(from):
		return "only the packages of wiring name stores"
	case allows(l.may, to):
		return ""
	}
	return l.why
}

// forbidsInTests is forbids for the tests of a package, which may import more.
func (l layer) forbidsInTests(from, to string) string {
	if !isOurs(to) && allows(testTools, to) {
		return ""
	}
	if isOurs(to) {
		if to := relative(to); to == from || to == leaving || to == failing || slices.Contains(l.tests, to) || slices.Contains(fakes, to) && strings.HasPrefix(from, "internal/") {
			return ""
		}
	}
	if l.path == "internal/cli" { // end to end: its tests run the whole binary and may see everything
		return ""
	}
	return l.forbids(from, to)
}

// inBattery reports whether path is a package of the battery, which is a test
// itself.
func inBattery(path string) bool { return path == battery || strings.HasPrefix(path, battery+"/") }

func allows(list []string, path string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		return p == "any" || path == p || p != contracts && strings.HasPrefix(path, p+"/")
	})
}

func lookup(table []layer, path string) (layer, bool) {
	for _, l := range table {
		below, all := strings.CutSuffix(l.path, "...")
		if l.path == path || all && strings.HasPrefix(path, below) {
			return l, true
		}
	}
	return layer{}, false
}

// maxLines and maxFiles bound a package, without its tests. A larger package
// must be split, or its row must give the reason.
const maxLines, maxFiles = 2500, 25

// checkSizes returns one sentence for each package that is too large and has no
// reason, and one for each package that has a reason and is not too large.
func checkSizes(table []layer, pkgs []pkg) (broken []string) {
	for _, p := range pkgs {
		name := relative(p.ImportPath)
		l, _ := lookup(table, name)
		large := p.Lines > maxLines || len(p.GoFiles) > maxFiles
		switch {
		case large && l.size == "":
			broken = append(broken, fmt.Sprintf("%s has %d lines in %d files, at most %d and %d: split it, or give its row in layers (arch_table_test.go) a size with the reason", name, p.Lines, len(p.GoFiles), maxLines, maxFiles))
		case !large && l.size != "":
			broken = append(broken, fmt.Sprintf("%s has %d lines in %d files: its row needs no size", name, p.Lines, len(p.GoFiles)))
		}
	}
	return broken
}

// staleRows returns one sentence for each row that names no package.
func staleRows(table []layer, pkgs []pkg) (stale []string) {
	for _, l := range table {
		if strings.HasSuffix(l.path, "...") || slices.ContainsFunc(pkgs, func(p pkg) bool { return relative(p.ImportPath) == l.path }) {
			continue
		}
		stale = append(stale, fmt.Sprintf("the row %s of layers (arch_table_test.go) names no package: delete it", l.path))
	}
	return stale
}

// isStd reports whether a package is in the standard library: the first element
// of its path has no dot.
func isStd(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func isOurs(path string) bool {
	return path == module || strings.HasPrefix(path, module+"/")
}

func isTesting(path string) bool {
	return path == "testing" || strings.HasPrefix(path, "testing/")
}

func relative(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

func TestTheCheckerSeesEachForbiddenArrow(t *testing.T) {
	const pebble = "github.com/cockroachdb/pebble/v2"
	for _, c := range []struct {
		name   string
		from   string
		to     string
		inTest bool
		want   string // a part of the sentence; empty: allowed
	}{
		{"engine takes a dependency", "wheel", pebble, false, "the engine is a library"},
		{"idle on the engine", "idle", "wheel", false, ""},
		{"idle on the domain", "idle", "internal/task", false, "the standard library and wheel"},
		{"domain on a library", "internal/task", "go.yaml.in/yaml/v3", false, "below everything"},
		{"siblings", "internal/dispatch", "internal/webhook", false, "interfaces and functions"},
		{"planner on the engine", "internal/dispatch/planner", "wheel", false, "pure"},
		{"model of permits in production", "internal/dispatch", "internal/tasktest/permittest", false, "for tests"},
		{"model of permits in a test", "internal/dispatch/planner", "internal/tasktest/permittest", true, ""},
		{"guard's library", "internal/webhook", "code.dny.dev/ssrf", false, ""},
		{"a library with a similar name", "internal/webhook", "code.dny.dev/ssrfx", false, "from a task to an outcome"},
		{"API names a store", "internal/api", "internal/store/memstore", false, "packages of wiring name stores"},
		{"store on a store", "internal/store/pebblestore", "internal/store/memstore", false, "packages of wiring name stores"},
		{"suite on a store", "internal/store/storetest", "internal/store/memstore", false, "packages of wiring name stores"},
		{"suite in production", "internal/store/memstore", "internal/store/storetest", false, "for tests"},
		{"the battery in the binary", "cmd/foliot", battery + "/verify", false, "for tests"},
		{"example looks inside", "examples/idle-http", "internal/task", false, "cannot import internal"},
		{"suite in a store's test", "internal/store/memstore", "internal/store/storetest", true, ""},
		{"reference as the fake", "internal/api", "internal/store/memstore", true, ""},
		{"siblings in a test", "internal/api", "internal/dispatch", true, "domain's contracts"},
		{"test tools in a test", "wheel", "pgregory.net/rapid", true, ""},
		{"test tools in production", "wheel", "pgregory.net/rapid", false, "the engine is a library"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pkg{ImportPath: module + "/" + c.from}
			to := c.to
			if _, ours := lookup(layers, to); ours {
				to = module + "/" + to
			}
			if c.inTest {
				p.XTestImports = []string{to}
			} else {
				p.Imports = []string{to}
			}
			got := strings.Join(check(layers, []pkg{p}), "\n")
			if c.want == "" && got != "" {
				t.Errorf("%s → %s was refused: %s", c.from, c.to, got)
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%s → %s: got %q, want a sentence with %q", c.from, c.to, got, c.want)
			}
		})
	}
}

func TestAPackageOutsideTheTableIsRefused(t *testing.T) {
	got := check(layers, []pkg{{ImportPath: module + "/internal/util"}})
	if len(got) != 1 || !strings.Contains(got[0], "internal/util is not in the import table") {
		t.Errorf("got %q", got)
	}
}

func TestALargePackageNeedsAReason(t *testing.T) {
	table := []layer{{path: "small"}, {path: "long"}, {path: "wide"}, {path: "excused", size: "why"}, {path: "shrunk", size: "why"}}
	files := make([]string, maxFiles+1)
	got := checkSizes(table, []pkg{
		{ImportPath: module + "/small", Lines: maxLines, GoFiles: files[1:]},
		{ImportPath: module + "/long", Lines: maxLines + 1, GoFiles: files[1:]},
		{ImportPath: module + "/wide", Lines: 1, GoFiles: files},
		{ImportPath: module + "/excused", Lines: maxLines + 1, GoFiles: files},
		{ImportPath: module + "/shrunk", Lines: maxLines, GoFiles: files[1:]},
	})
	if len(got) != 3 || !strings.HasPrefix(got[0], "long has 2501 lines") || !strings.HasPrefix(got[1], "wide has 1 lines in 26 files") || !strings.HasPrefix(got[2], "shrunk") {
		t.Errorf("got %q", got)
	}
}

func TestAStaleRowIsFound(t *testing.T) {
	got := staleRows([]layer{{path: "a"}, {path: "gone"}, {path: "all/..."}}, []pkg{{ImportPath: module + "/a"}})
	if len(got) != 1 || !strings.Contains(got[0], "the row gone of layers") {
		t.Errorf("got %q", got)
	}
}

func TestEveryLayerSaysWhy(t *testing.T) {
	for _, l := range layers {
		if l.why == "" {
			t.Errorf("%s has no reason", l.path)
		}
	}
}
