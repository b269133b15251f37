package original

import (
	"maps"
	"os"
	"regexp"
	"testing"
)

func TestThePageShowsWhatTheTestsSaw(t *testing.T) {
	const test = `(?s)\nfunc (Test\w+)\(.*?saw\(t, [^\n]*, "([^"\n]*)"\)`
	there := found(t, "faults_test.go", test, 1, 2)
	maps.Copy(there, found(t, "nodes_test.go", test, 1, 2))
	shown := found(t, "../../../docs/redis-original-design.md", "\\| `([^`]+)`[^|]*\\| `(Test\\w+)`", 2, 1)
	if len(shown) != 14 || !maps.Equal(there, shown) {
		t.Errorf("docs/redis-original-design.md shows\n%q\nand the tests saw\n%q", shown, there)
	}
}

// found returns two groups of each match of a pattern in a file.
func found(t *testing.T, file, pattern string, key, value int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		all[m[key]] = m[value]
	}
	return all
}
