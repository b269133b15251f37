package prose

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	root         = "../.."
	glossaryPage = "docs/glossary.md"
	figuresFile  = "testdata/figures.txt"
	namesFile    = "testdata/names.txt"

	figuresHead = "# Dialect words per 1,000 words: the highest figure allowed. Rows only fall; places at 3 or below have none.\n" + how
	namesHead   = "# Names that use a synonym banned by docs/glossary.md. The list only shrinks.\n" + how
	how         = "# After a rewrite: go test ./internal/prose -prose.update. After a move of packages: -prose.moved.\n"
)

var (
	update = flag.Bool("prose.update", os.Getenv("UPDATE_GOLDEN") != "", "lower the rows in testdata; no row rises")
	moved  = flag.Bool("prose.moved", false, "write new rows after packages were moved or split; no total rises")
	table  = flag.Bool("prose.table", false, "print all figures")
	hidden = flag.Bool("prose.names", false, "print each name that uses a banned synonym, unexported ones too")
	lines  = flag.String("prose.lines", "", "print each dialect word in this package or page, or in `all`")
)

// readOnce serves both tests: each reads the whole repository.
var readOnce = sync.OnceValues(func() (Tree, error) { return Read(os.DirFS(root)) })

func repository(t *testing.T) Tree {
	t.Helper()
	tree, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

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
	figures := Measure(repository(t).Texts)
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

// TestProseNamesFollowTheGlossary refuses banned synonyms as names of
// directories, files and exported identifiers.
func TestProseNamesFollowTheGlossary(t *testing.T) {
	tree := repository(t)
	entries, err := ParseGlossary(read(t, root+"/"+glossaryPage))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		t.Fatalf("%s has no table headed Word", glossaryPage)
	}
	for _, wrong := range CheckGlossary(entries, tree.Dirs) {
		t.Errorf("%s: %s", glossaryPage, wrong)
	}
	offenders := Offenders(entries, tree.Names)
	if *hidden {
		for _, o := range offenders {
			fmt.Println(o)
		}
	}
	offenders = slices.DeleteFunc(offenders, func(o Offender) bool { return o.Name.Hidden })
	listed := listedNames(read(t, namesFile))
	if *moved || *update {
		listed = shrink(listed, offenders, *moved)
		write(t, namesFile, namesHead+strings.Join(listed, "\n")+"\n")
	}
	for _, wrong := range CheckNames(listed, offenders) {
		t.Error(wrong)
	}
}

func listedNames(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			names = append(names, line)
		}
	}
	return names
}

// shrink drops the stale lines of the list. After a move it returns the offenders
// of today, if they are no more than those listed.
func shrink(listed []string, offenders []Offender, moved bool) []string {
	var today []string
	for _, o := range offenders {
		today = append(today, o.Line())
	}
	if moved && len(today) <= len(listed) {
		return today
	}
	return slices.DeleteFunc(listed, func(line string) bool { return !slices.Contains(today, line) })
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
