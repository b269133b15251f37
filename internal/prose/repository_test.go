package prose

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	root        = "../.."
	figuresFile = "testdata/figures.txt"

	figuresHead = "# Dialect words per 1,000 words: the highest figure allowed. Rows only fall; places at 3 or below have none.\n" + how
	how         = "# After a rewrite: go test ./internal/prose -prose.update. After a move of packages: -prose.moved.\n"
)

var (
	update = flag.Bool("prose.update", os.Getenv("UPDATE_GOLDEN") != "", "lower the rows in testdata; no row rises")
	moved  = flag.Bool("prose.moved", false, "write new rows after packages were moved or split; no total rises")
	table  = flag.Bool("prose.table", false, "print all figures")
	lines  = flag.String("prose.lines", "", "print each dialect word in this package or page, or in `all`")
)

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestProseIsPlainEnglish holds each package and page at 3 dialect words per
// 1,000, or at its row.
func TestProseIsPlainEnglish(t *testing.T) {
	texts, err := Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	figures := Measure(texts)
	rows, err := ParseRows(read(t, figuresFile))
	if err != nil {
		t.Fatal(err)
	}
	if *table {
		fmt.Print(summary(figures))
	}
	if *lines != "" {
		printLines(figures, *lines)
	}
	if *moved {
		if rows, err = Moved(rows, figures); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		rows = Lower(rows, figures)
	}
	if *moved || *update {
		write(t, figuresFile, figuresHead+rows.String())
	}
	for _, wrong := range Check(rows, figures) {
		t.Error(wrong)
	}
}

// summary is the whole table, highest figures first, as Markdown.
func summary(figures map[Key]Figure) string {
	keys := slices.SortedFunc(maps.Keys(figures), func(a, b Key) int {
		return cmp.Or(cmp.Compare(figures[b].Rate(), figures[a].Rate()), compareKeys(a, b))
	})
	var b strings.Builder
	fmt.Fprintf(&b, "| %-34s | %-8s | %7s | %7s | %9s |\n|---|---|---|---|---|\n", "place", "kind", "words", "dialect", "per 1,000")
	for _, key := range keys {
		f := figures[key]
		fmt.Fprintf(&b, "| %-34s | %-8s | %7d | %7d | %9.1f |\n", key.Place, key.Kind, f.Words, len(f.Findings), f.Rate())
	}
	return b.String()
}

func printLines(figures map[Key]Figure, place string) {
	for _, key := range slices.SortedFunc(maps.Keys(figures), compareKeys) {
		if key.Place == Total || place != "all" && key.Place != place {
			continue
		}
		for _, f := range figures[key].Findings {
			fmt.Println(f)
		}
	}
}
