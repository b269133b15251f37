package prose

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unpublished matches what fails until the first release: a command that
// downloads a part of Foliot, or the name of its image. `dir/foliot` in a clone
// is no download.
var unpublished = regexp.MustCompile(`go (?:get|install) github\.com/foliot/|(?:npm|pip) install \S*foliot-|docker pull|ghcr\.io/foliot/foliot:`)

// Remove this test with the remarks when the first release is published.
func TestCommandsThatNeedAReleaseSaySo(t *testing.T) {
	found := 0
	walkFiles(t, os.DirFS(root), func(name, text string) {
		if path.Ext(name) != ".md" || name == "CHANGELOG.md" {
			return
		}
		found += len(unpublished.FindAllString(text, -1))
		for _, line := range withoutRemark(text) {
			t.Errorf("%s: %q needs the remark %q in the block, or in the paragraph before it", name, line, remark)
		}
	})
	if found < 8 {
		t.Errorf("only %d such commands were found", found)
	}
}

const remark = "not published yet"

func TestACommandWithoutARemarkIsFound(t *testing.T) {
	got := withoutRemark("a\n\n```\ngo get github.com/foliot/foliot/x\n```\n\nIt is not\npublished yet:\n\n```\ndocker pull x\n```\n\n`pip install ./clients/python` | npm install ./foliot-1.tgz\n")
	if want := []string{"go get github.com/foliot/foliot/x", "`pip install ./clients/python` | npm install ./foliot-1.tgz"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// withoutRemark returns the lines with such a command that have no remark in
// their paragraph or code block, or in the one before it.
func withoutRemark(page string) (lines []string) {
	blocks := strings.Split(page, "\n\n")
	for i, block := range blocks {
		near := strings.Join(strings.Fields(strings.Join(blocks[max(0, i-1):i+1], " ")), " ")
		for line := range strings.Lines(block) {
			if unpublished.MatchString(line) && !strings.Contains(near, remark) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return lines
}
