package page

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// value is a contestant. The last one does not compete.
type value struct {
	x    float64
	last bool
}

func (v value) Title() string  { return Figure(v.x) }
func (v value) Competes() bool { return !v.last }

func TestOnlyThoseThatTakePartCanBeBest(t *testing.T) {
	all := []value{{x: 3}, {x: 2}, {x: 2}, {x: math.NaN()}, {1, true}}
	x := func(v value) float64 { return v.x }
	got := Compare("", all,
		Row[value]{What: "x", Value: x, Best: true},
		Row[value]{What: "plain", Value: x},
		Row[value]{What: "nothing", Value: func(value) float64 { return math.NaN() }, Best: true},
		Row[value]{What: "text", Text: value.Title})
	const want = `|  | 3.0 | 2.0 | 2.0 | – | 1.0 |
| --- | --: | --: | --: | --: | --: |
| x | 3.0 | **2.0** | **2.0** | – | 1.0 |
| plain | 3.0 | 2.0 | 2.0 | – | 1.0 |
| nothing | – | – | – | – | – |
| text | 3.0 | 2.0 | 2.0 | – | 1.0 |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Compare("", all[:0], Row[value]{What: "x", Value: x}); got != NotMeasured {
		t.Errorf("without contestants: %s", got)
	}
}

func TestATableMayHaveALastRow(t *testing.T) {
	word := Column[string]{Head: "word", Cell: func(s string) string { return s }, Foot: "*all*"}
	size := Column[string]{Head: "letters", Cell: func(s string) string { return Count(len(s)) }}
	const want = `| word | letters |
| --- | --: |
| one | 3 |
| four | 4 |
| *all* |  |
`
	if got := Table([]string{"one", "four"}, word, size); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Table(nil, word, size); got != NotMeasured {
		t.Errorf("without rows: %s", got)
	}
}

func TestOnlyParagraphsAndListItemsAreWrapped(t *testing.T) {
	const word = "12\u00a0345 words"
	long := strings.TrimSpace(strings.Repeat(word+" ", 10))
	for text, want := range map[string]string{
		"# " + long: "# " + long, "| " + long + " |": "| " + long + " |", "> " + long: "> " + long, "```\n" + long + "\n```": "```\n" + long + "\n```",
		"a\nb":                      "a b",
		"a\n\n\n\nb\n":              "a\n\nb",
		"- a\nb\n- c\n  - d\n    e": "- a b\n- c\n  - d e",
		long:                        strings.Repeat(word+" ", 7) + "12\u00a0345\n" + "words " + word + " " + word,
	} {
		if got := wrap(text); got != want+"\n" {
			t.Errorf("%q is wrapped as\n%s\nwant\n%s", text, got, want)
		}
	}
	for line := range strings.Lines(wrap("  - " + long)) {
		if n := utf8.RuneCountInString(line); n > width+1 || !strings.HasPrefix(line, "  - ") && !strings.HasPrefix(line, "    ") {
			t.Errorf("%d characters in %q", n, line)
		}
	}
}

func TestNumbersAreReadable(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.004: "0", 0.04: "0.04", 1.26: "1.3", 9.96: "10", 1234.5: "1235", 12345: "12\u00a0345", -1234567: "-1\u00a0234\u00a0567", math.Inf(1): "–",
	} {
		if got := Figure(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

func TestMissedTargetsAreShown(t *testing.T) {
	got := Targets([]Target{
		Most("a", 1, 2, "ms"), Most("b", 3, 2, "ms"), Most("c", 1, 0, "of 9"), Most("d", math.NaN(), 2, "ms"), {"e", "", "5 ms", None},
	})
	const want = `| target | wanted | measured |  |
| --- | --- | --: | --: |
| a | ≤ 2 ms | 1.0 ms | reached |
| b | ≤ 2 ms | 3.0 ms | **not reached** |
| c | 0 | 1.0 of 9 | **not reached** |
| d | ≤ 2 ms | – | not measured |
| e |  | 5 ms |  |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestATerminalGetsTheTablesWithTheirHeadings(t *testing.T) {
	got := Tables([]byte("# Page\n\nText.\n\n## First\n\nText.\n\n| a |\n| b |\n\nText.\n\n| c |\n\n## Second\n\n- Text.\n- Failed: it\n"))
	if want := "\n## First\n\n| a |\n| b |\n\n| c |\n\n\n## Second\n\n- Failed: it\n"; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
