package original

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

func TestThePageNamesTheTestsThatThereAre(t *testing.T) {
	var there []string
	for _, file := range []string{"faults_test.go", "nodes_test.go"} {
		there = append(there, found(t, file, `(?m)^func (Test\w+)`)...)
	}
	named := found(t, "../../../docs/redis-original-design.md", "`(Test\\w+)`")
	slices.Sort(there)
	slices.Sort(named)
	if len(named) != 14 || !slices.Equal(there, named) {
		t.Errorf("docs/redis-original-design.md names\n%q\nand there are\n%q", named, there)
	}
}

// found returns the matches of the first group of a pattern in a file.
func found(t *testing.T, file, pattern string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	return all
}
