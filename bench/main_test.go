package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A page that was edited by hand, or not written again after a change of its
// template, fails.
func TestTheCommittedPagesAreThoseOfTheCommittedResults(t *testing.T) {
	for i := range pages {
		p := &pages[i]
		text, err := os.ReadFile(filepath.Join("results", p.name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := p.fill(read(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("..", "docs", p.doc)); err != nil || string(got) != string(want) {
			t.Errorf("docs/%s is not the page of the results: run make %s ARGS=-report (%v)", p.doc, p.target, err)
		}
	}
}

func TestTheMedianOfTheTrialsCounts(t *testing.T) {
	r := read(`started: 2026-11-29
BenchmarkA/x-2         	       1	         3.000 ms	        10 ns/op
BenchmarkA/x           	       1	         1.000 ms
BenchmarkA/x-16        	       1	         2.000 ms
BenchmarkA/y-1ms-2     	       1	         7.000 ms
failed: z, A: it broke
`)
	if got := r.median("A", "x", "ms"); got != 2 {
		t.Errorf("the median is %v", got)
	}
	if got := r.median("A", "y-1ms", "ms"); got != 7 {
		t.Errorf("the name of a contender may end like a number of processors: %v", got)
	}
	if got := r.median("A", "z", "ms"); !math.IsNaN(got) || r.Head("started") != "2026-11-29" || !slices.Equal(r.Failures(), []string{"z, A: it broke"}) {
		t.Errorf("%v, %+v", got, r)
	}
}

func TestATableSaysWhereOthersAreBetter(t *testing.T) {
	rows := []row{{"a", "theirs", false}, {"b", "ours", true}, {"c", "", false}}
	r := read("BenchmarkP/a 1 1 x -5 y 12345 z\nBenchmarkP/b 1 2 x 2 y 100 z\nBenchmarkP/c 1 0 x 0 y 0 z\n")
	columns := []column{
		{head: "less", part: "P", unit: "x", better: less},
		{head: "near", part: "P", unit: "y", better: less}, // five early are not better than two late
		{head: "more", part: "P", unit: "z", better: more},
		{head: "noise", part: "P", unit: "x", better: less, noise: 1},
		{head: "unknown", part: "P", unit: "u", better: less},
		{head: "text", text: func(_ *results, name string) string { return name }},
	}
	const want = "| | less | near | more | noise | unknown | text |\n|---|--:|--:|--:|--:|--:|--:|\n" +
		"| theirs | 1.0 | -5.0 | 12\u00a0345 | 1.0 | – | a |\n| **ours** | 2.0 | 2.0 | 100 | 2.0 | – | b |\n"
	if got := table(rows, columns, r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := losses(rows, columns, r); !slices.Equal(got, []string{"less: theirs 1.0; ours 2.0", "more: theirs 12\u00a0345; ours 100"}) {
		t.Errorf("losses are %q", got)
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for args, want := range map[string]string{
		"": "one of wheel, idle", "x": "one of wheel", "wheel x": `"x" is not a flag`,
	} {
		if _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
