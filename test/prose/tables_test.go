package prose

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	splitTable = regexp.MustCompile(`(?m)^\|.*\n\n\|.*\n([^|]|\|[^-])|^\|.*\n[^|\n<]`) // an empty line within, or text right after it
	openFence  = regexp.MustCompile("(?m)^ *```.* [^`]*[a-z]{3,} [a-z]")
)

// tornBlocks returns the places at which a table or a block of code is torn.
func tornBlocks(page string) (torn []string) {
	for _, form := range []*regexp.Regexp{splitTable, openFence} {
		for _, at := range form.FindAllStringIndex(page, -1) {
			torn = append(torn, fmt.Sprint("line ", 1+strings.Count(page[:at[0]], "\n")))
		}
	}
	return torn
}

func TestTablesAndBlocksAreWhole(t *testing.T) {
	walkFiles(t, os.DirFS(root), func(name, page string) {
		if strings.HasSuffix(name, ".md") {
			for _, at := range tornBlocks(page) {
				t.Errorf("%s, %s: a table has an empty line within or text right after it, or text follows a fence", name, at)
			}
		}
	})
	for page, torn := range map[string]int{"| a |\n|---|\n| b |\n\ntext": 0, "| a |\n\n| b |\n\n": 1, "| a |\ntext": 1, "```sh\nx\n```": 0, "   ```   For three servers": 1} {
		if got := tornBlocks(page); len(got) != torn {
			t.Errorf("%q: %q", page, got)
		}
	}
}
