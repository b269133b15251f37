package prose

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const widest = 100

var bareLink = regexp.MustCompile(`\]\([^)]*\)|<?https?://[^\s)>]+`)

func TestLinesOfPagesAreShort(t *testing.T) {
	walkFiles(t, os.DirFS(root), func(name, text string) {
		if path.Ext(name) != ".md" {
			return
		}
		for _, n := range longLines(text) {
			t.Errorf("%s:%d is wider than %d columns", name, n, widest)
		}
	})
}

func TestALongLineIsFound(t *testing.T) {
	long := strings.Repeat("ä", widest) + "\n"
	got := longLines(fmt.Sprint(long, "a", long, "| ", long, "```\na", long, "```\n - a", long, "[x](", strings.Repeat("y", widest), ")\n"))
	if want := []int{2, 7}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := longLines("# A\n\n<!-- Written by a program -->\n\na" + long); got != nil {
		t.Errorf("a generated page has long lines %v", got)
	}
}

// longLines returns the numbers of the lines that are too wide. Links, tables,
// code blocks, comments and generated pages may be wider.
func longLines(page string) (numbers []int) {
	if strings.Contains(page, "<!-- Written by") {
		return nil
	}
	fence, n := false, 0
	for line := range strings.Lines(page) {
		n++
		line = strings.TrimRight(line, "\n")
		start := strings.TrimSpace(line)
		if strings.HasPrefix(start, "```") || strings.HasPrefix(start, "~~~") {
			fence = !fence
		}
		if fence || strings.HasPrefix(start, "|") || strings.HasPrefix(start, "<!--") {
			continue
		}
		if utf8.RuneCountInString(bareLink.ReplaceAllString(line, "")) > widest {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
