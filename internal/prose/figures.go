package prose

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Aim is the figure that needs no row: dialect words per 1,000 words.
const Aim = 3.0

// Total is the place that stands for all places of a kind.
const Total = "total"

// Key names one figure.
type Key struct {
	Place string
	Kind  Kind
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Kind, b.Kind))
}

// Finding is a hit with its place.
type Finding struct {
	File   string
	Line   int
	Word   string
	Better string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %q: better: %s", f.File, f.Line, f.Word, f.Better)
}

// Figure is the count of one kind of text in one place.
type Figure struct {
	Words    int
	Findings []Finding
}

// Rate returns the dialect words per 1,000 words.
func (f Figure) Rate() float64 {
	if f.Words == 0 {
		return 0
	}
	return 1000 * float64(len(f.Findings)) / float64(f.Words)
}

// Measure counts the texts by place and kind, and in total by kind.
func Measure(texts []Text) map[Key]Figure {
	figures := map[Key]Figure{}
	for _, t := range texts {
		words, hits := Count(t.Body)
		for _, key := range []Key{{t.Place, t.Kind}, {Total, t.Kind}} {
			f := figures[key]
			f.Words += words
			for _, h := range hits {
				f.Findings = append(f.Findings, Finding{t.File, t.line(h.Offset), h.Word, h.Better})
			}
			figures[key] = f
		}
	}
	return figures
}

// Rows is the ratchet: the highest figure that is allowed to places above Aim.
type Rows map[Key]float64

// ParseRows reads lines of place, kind and figure.
func ParseRows(text string) (Rows, error) {
	rows := Rows{}
	for n, fields := range tabular(text) {
		if len(fields) != 3 {
			return nil, fmt.Errorf("line %d: %d fields, want place, kind and figure", n, len(fields))
		}
		figure, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		key := Key{fields[0], Kind(fields[1])}
		if _, twice := rows[key]; twice {
			return nil, fmt.Errorf("line %d: a second row for %s of %s", n, key.Kind, key.Place)
		}
		rows[key] = figure
	}
	return rows, nil
}

// tabular yields the number and the fields of each line that is not a comment.
func tabular(text string) map[int][]string {
	lines := map[int][]string{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] != "#" {
			lines[n] = fields
		}
	}
	return lines
}

// String writes the rows as ParseRows reads them.
func (r Rows) String() string {
	var b strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(r), compareKeys) {
		fmt.Fprintf(&b, "%-34s %-9s %5.1f\n", key.Place, key.Kind, r[key])
	}
	return b.String()
}

// step is the grain of rows. A row stands up to one step above its figure, so
// that a deleted line of good prose does not fail the test.
const step = 0.5

// slack is how far a figure may fall below its row before the row must follow.
func slack(row float64) float64 { return max(1, row/10) }

func rowFor(f Figure) float64 { return math.Ceil(f.Rate()/step) * step }

// Check returns one sentence for each figure above its row, and for each row
// that is stale or higher than its figure needs.
func Check(rows Rows, figures map[Key]Figure) []string {
	var wrong []string
	for _, key := range slices.SortedFunc(maps.Keys(figures), compareKeys) {
		f := figures[key]
		row, has := rows[key]
		switch allowed := max(row, Aim); {
		case f.Rate() > allowed:
			wrong = append(wrong, above(key, f, allowed))
		case has && f.Rate() <= Aim:
			wrong = append(wrong, fmt.Sprintf("%s: %s: %.1f dialect words per 1,000 need no row: delete it", key.Place, key.Kind, f.Rate()))
		case has && f.Rate() < row-slack(row):
			wrong = append(wrong, fmt.Sprintf("%s: %s: %.1f dialect words per 1,000: lower the row from %.1f to %.1f", key.Place, key.Kind, f.Rate(), row, rowFor(f)))
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(rows), compareKeys) {
		if _, exists := figures[key]; !exists {
			wrong = append(wrong, fmt.Sprintf("%s: %s: there is no such text any more: delete the stale row", key.Place, key.Kind))
		}
	}
	return wrong
}

// shown is how many findings a failure lists.
const shown = 25

func above(key Key, f Figure, allowed float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %.1f dialect words per 1,000 (%d in %d), allowed are %.1f:",
		key.Place, key.Kind, f.Rate(), len(f.Findings), f.Words, allowed)
	if key.Place == Total {
		b.WriteString(" see the packages and pages")
		return b.String()
	}
	for i, finding := range f.Findings {
		if i == shown {
			fmt.Fprintf(&b, "\n\tand %d more: go test ./internal/prose -v -run TestProse -prose.lines %s", len(f.Findings)-shown, key.Place)
			break
		}
		fmt.Fprintf(&b, "\n\t%s", finding)
	}
	return b.String()
}

// Lower returns the rows without stale ones, each no higher than its figure
// needs. No row rises, and none is added.
func Lower(rows Rows, figures map[Key]Figure) Rows {
	lowered := Rows{}
	for key, row := range rows {
		if f := figures[key]; f.Rate() > Aim {
			lowered[key] = min(row, rowFor(f))
		}
	}
	return lowered
}

// Moved returns rows for the figures of today. A package that was moved or split
// keeps its dialect in other places, so only the totals count: it fails if the
// total of a kind is above its row.
func Moved(rows Rows, figures map[Key]Figure) (Rows, error) {
	moved := Rows{}
	for key, f := range figures {
		if allowed := max(rows[key], Aim); key.Place == Total && f.Rate() > allowed {
			return nil, fmt.Errorf("%s: %.1f dialect words per 1,000 in total, allowed are %.1f", key.Kind, f.Rate(), allowed)
		}
		if f.Rate() > Aim {
			moved[key] = rowFor(f)
			if key.Place == Total {
				moved[key] = min(rows[key], rowFor(f))
			}
		}
	}
	return moved, nil
}
