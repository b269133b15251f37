package prose

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var (
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w*)\(`)
	testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*(?:…|\.\.\.|\.?\*)?`)
)

func TestEveryTestNamedOnAPageExists(t *testing.T) {
	for _, missing := range missingTests(t, os.DirFS(root)) {
		t.Error(missing)
	}
}

func TestAMissingTestIsFound(t *testing.T) {
	got := missingTests(t, fstest.MapFS{
		"a.md":        {Data: []byte("`TestA` TestGone TestAB… TestC* Tested TestDE.* TestDF\n")},
		"x/x_test.go": {Data: []byte("func TestA(t *testing.T) {}\nfunc FuzzB(f *testing.F) {}\nfunc TestABC(t *testing.T) {}\nfunc TestDEF(t *testing.T) {}")},
		"x/x.go":      {Data: []byte("func TestDF(t *testing.T) {}")},
	})
	want := []string{"a.md: there is no test TestC*", "a.md: there is no test TestDF", "a.md: there is no test TestGone"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// missingTests returns the names of tests on the pages below root that no test
// has. A name may end in … or *.
func missingTests(t *testing.T, root fs.FS) (missing []string) {
	t.Helper()
	var tests []string
	pages := map[string]string{}
	walkFiles(t, root, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range testFunc.FindAllStringSubmatch(text, -1) {
				tests = append(tests, m[1])
			}
		}
		if path.Ext(name) == ".md" {
			pages[name] = text
		}
	})
	slices.Sort(tests)
	for page, text := range pages {
		for _, name := range testName.FindAllString(text, -1) {
			prefix := strings.TrimRight(name, "….*")
			at, exact := slices.BinarySearch(tests, prefix)
			if found := exact || prefix != name && at < len(tests) && strings.HasPrefix(tests[at], prefix); !found {
				missing = append(missing, page+": there is no test "+name)
			}
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}
