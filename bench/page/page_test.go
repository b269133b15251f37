package page

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/foliot/foliot/bench/record"
)

func TestATableSaysWhereOthersAreBetter(t *testing.T) {
	x := func(factor float64) func(string) float64 {
		return func(name string) float64 {
			number, _ := strconv.Atoi(name)
			return factor * float64(number)
		}
	}
	columns := []Column{
		{Head: "less", Value: x(1), Better: Less},
		{Head: "more", Value: x(10), Better: More},
		{Head: "noise", Value: x(1), Better: Less, Noise: 1},
		{Head: "none", Value: x(-1)},
		{Head: "unknown", Value: x(math.NaN()), Better: Less},
		{Head: "text", Text: func(name string) string { return name }},
	}
	contenders := func(names ...string) (list []record.Contender) { // ours are even
		for _, name := range names {
			list = append(list, record.Contender{Name: name, Title: "t" + name, Ours: strings.ContainsAny(name, "02468")})
		}
		return append(list, record.Contender{Name: "0"}) // without a title, without a row
	}
	const want = `| | less | more | noise | none | unknown | text |
|---|--:|--:|--:|--:|--:|--:|
| t1 | 1.0 | 10 | 1.0 | -1.0 | – | 1 |
| **t2** | 2.0 | 20 | 2.0 | -2.0 | – | 2 |
`
	if got := Table(contenders("1", "2"), columns); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Losses(contenders("1", "2", "4", "3"), columns); len(got) != 1 || got[0] != "less: t1 1.0; t2 2.0" {
		t.Errorf("losses are %q", got)
	}
	if got := Losses(contenders("5", "2"), columns[1:2]); len(got) != 1 || got[0] != "more: t5 50; t2 20" {
		t.Errorf("losses are %q", got)
	}
	if got := Losses(contenders("-5", "2"), columns[:1]); got != nil {
		t.Errorf("five early are better than two late: %q", got)
	}
	if got := Table(contenders("1"), columns[4:5]); got != NotMeasured {
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

func TestATerminalGetsTheTablesWithTheirHeadings(t *testing.T) {
	got := Tables([]byte("# Page\n\nText.\n\n## First\n\nText.\n\n| a |\n| b |\n\nText.\n\n| c |\n\n## Second\n\n- Text.\n- Failed: it\n"))
	if want := "\n## First\n\n| a |\n| b |\n\n| c |\n\n\n## Second\n\n- Failed: it\n"; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
