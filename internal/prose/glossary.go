package prose

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Everywhere is the package of a word that belongs to the whole repository.
const Everywhere = "everywhere"

// Entry is one word of the glossary.
type Entry struct {
	Line     int
	Word     string
	Meaning  string
	Packages []string // Everywhere, or directories: each with those below it
	Banned   []string
}

// ParseGlossary reads the tables of a page in which the heading of the first
// column is Word. The columns are word, meaning, packages and banned synonyms.
//
// A banned synonym is a word of a name (`gate` bans gate.go, Gate and OpenGates),
// a file (`linger.go`) or one identifier of a package (`client.ErrStale`).
func ParseGlossary(page string) ([]Entry, error) {
	var entries []Entry
	inside := false
	n := 0
	for line := range strings.Lines(page) {
		n++
		cells, is := row(line)
		switch {
		case !is:
			inside = false
		case cells[0] == "Word":
			inside = true
		case !inside || strings.Trim(cells[0], "-: ") == "":
		case len(cells) != 4:
			return nil, fmt.Errorf("line %d: %d cells, want word, meaning, package and banned synonyms", n, len(cells))
		default:
			e := Entry{Line: n, Word: cells[0], Meaning: cells[1], Packages: commas(cells[2]), Banned: commas(cells[3])}
			if e.Word == "" || e.Meaning == "" || len(e.Packages) == 0 {
				return nil, fmt.Errorf("line %d: a word needs a meaning and a package", n)
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// row splits a line of a table into its cells.
func row(line string) ([]string, bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil, false
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells, true
}

func commas(cell string) []string {
	var all []string
	for part := range strings.SplitSeq(cell, ",") {
		if part = strings.Trim(part, "` "); part != "" {
			all = append(all, part)
		}
	}
	return all
}

// CheckGlossary returns one sentence for each entry that contradicts another, or
// names a package that dirs does not have.
func CheckGlossary(entries []Entry, dirs map[string]bool) []string {
	var wrong []string
	for i, e := range entries {
		for _, p := range e.Packages {
			if p != Everywhere && !dirs[p] {
				wrong = append(wrong, fmt.Sprintf("line %d: %s: there is no package %s", e.Line, e.Word, p))
			}
		}
		for _, other := range entries {
			if slices.Contains(other.Banned, e.Word) && meet(e, other) {
				wrong = append(wrong, fmt.Sprintf("line %d: %s is banned by the row of %s", e.Line, e.Word, other.Word))
			}
		}
		for _, other := range entries[:i] {
			if e.Word == other.Word && meet(e, other) {
				wrong = append(wrong, fmt.Sprintf("line %d: %s has a second row", e.Line, e.Word))
			}
		}
	}
	return wrong
}

// meet reports whether a package belongs to both entries.
func meet(a, b Entry) bool {
	return slices.ContainsFunc(a.Packages, b.owns) || slices.ContainsFunc(b.Packages, a.owns)
}

// owns reports whether the entry's bans hold in a directory.
func (e Entry) owns(dir string) bool {
	return slices.ContainsFunc(e.Packages, func(p string) bool {
		return p == Everywhere || p == dir || strings.HasPrefix(dir, p+"/")
	})
}

// ban is one banned synonym, ready to be compared.
type ban struct {
	entry      Entry
	synonym    string
	words      []string // of a name; nil: a file or an identifier
	file       string
	pkg, ident string
}

func bans(entries []Entry) []ban {
	var all []ban
	for _, e := range entries {
		for _, synonym := range e.Banned {
			b := ban{entry: e, synonym: synonym}
			if stem, is := strings.CutSuffix(synonym, ".go"); is {
				b.file = stem
			} else if pkg, ident, is := strings.Cut(synonym, "."); is {
				b.pkg, b.ident = pkg, ident
			} else {
				b.words = wordsOf(synonym)
			}
			all = append(all, b)
		}
	}
	return all
}

// refuses reports whether the ban holds for a name, which has these words.
func (b ban) refuses(n Name, words []string) bool {
	switch {
	case b.file != "":
		return n.Ident == "" && !n.Dir && n.own() == b.file
	case b.ident != "":
		return n.Ident == b.ident && path.Base(n.Place) == b.pkg
	}
	return contains(words, b.words)
}

// Offender is a name with a banned synonym.
type Offender struct {
	Name   Name
	Banned string
	Word   string // to use instead
}

// Line is the offender as the list in testdata has it.
func (o Offender) Line() string { return o.Name.Key() + " " + o.Banned }

func (o Offender) String() string {
	return fmt.Sprintf("%s:%d: %s: the glossary bans %q: use %s", o.Name.File, o.Name.Line, o.Name.Key(), o.Banned, o.Word)
}

// Offenders returns the names that use a banned synonym, one for each name and
// synonym, sorted by line.
func Offenders(entries []Entry, names []Name) []Offender {
	var all []Offender
	banned := bans(entries)
	for _, n := range names {
		words := wordsOf(n.own())
		for _, b := range banned {
			if b.refuses(n, words) && b.entry.owns(n.Place) {
				all = append(all, Offender{n, b.synonym, b.entry.Word})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Offender) int { return strings.Compare(a.Line(), b.Line()) })
	return slices.CompactFunc(all, func(a, b Offender) bool { return a.Line() == b.Line() })
}

// CheckNames returns one sentence for each offender that is not on the list,
// and for each line of the list that has no offender.
func CheckNames(listed []string, offenders []Offender) []string {
	var wrong []string
	found := map[string]bool{}
	for _, o := range offenders {
		found[o.Line()] = true
		if !slices.Contains(listed, o.Line()) {
			wrong = append(wrong, o.String())
		}
	}
	for _, line := range listed {
		if !found[line] {
			wrong = append(wrong, line+": the name is gone or no longer banned: delete the line")
		}
	}
	return wrong
}
