package prose

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`^#+ +(.*)`)
	anchor   = regexp.MustCompile(`(?:id|name)="([^"]+)"`)
	linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	noSlug   = regexp.MustCompile(`[^\w\- ]`)
	inCode   = regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`") // in Go, NewKind[T](name) looks like a link
)

func TestEveryLinkOfThePagesHasATarget(t *testing.T) {
	for _, broken := range brokenLinks(t, os.DirFS(root)) {
		t.Error(broken)
	}
}

func TestABrokenLinkIsFound(t *testing.T) {
	got := brokenLinks(t, fstest.MapFS{
		"a.md":      {Data: []byte("# A `b`, c\n[x](#a-b-c) [x](#gone) [x](docs/b.md#here) [x](docs/b.md#there) [x](no.md) [x](https://example.com/y)\n```\n# code\n[T](name)\n```\n`[T](name)` [`x`](#code)")},
		"docs/b.md": {Data: []byte("<a id=\"here\"></a> [x](../a.md)")},
	})
	want := []string{"a.md: no target for #code", "a.md: no target for #gone", "a.md: no target for docs/b.md#there", "a.md: no target for no.md"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// brokenLinks returns the links between the pages below root that have no target.
func brokenLinks(t *testing.T, root fs.FS) (broken []string) {
	t.Helper()
	pages := map[string]string{}
	walkFiles(t, root, func(name, text string) {
		if path.Ext(name) == ".md" {
			pages[name] = text
		}
	})
	for name, text := range pages {
		for _, m := range link.FindAllStringSubmatch(inCode.ReplaceAllString(text, ""), -1) {
			file, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, ":") { // another site
				continue
			}
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			_, err := fs.Stat(root, target)
			if page, ok := pages[target]; err != nil || ok && fragment != "" && !slices.Contains(anchors(page), fragment) {
				broken = append(broken, name+": no target for "+m[1])
			}
		}
	}
	slices.Sort(broken)
	return broken
}

// anchors returns the fragments by which links can name a place in a page.
func anchors(page string) []string {
	set := map[string]bool{}
	code := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if m := heading.FindStringSubmatch(strings.TrimSpace(line)); m != nil && !code {
			text := linkText.ReplaceAllString(m[1], "$1")
			set[strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(text), ""), " ", "-")] = true
		}
		for _, m := range anchor.FindAllStringSubmatch(line, -1) {
			set[m[1]] = true
		}
	}
	return slices.Collect(maps.Keys(set))
}
