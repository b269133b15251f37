package prose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Most is the highest figure of a package or page: dialect words per 1,000 words.
const Most = 3.0

// Key names one figure.
type Key struct {
	Place string
	Kind  Kind
}

// Figure is the count of one kind of text in one place.
type Figure struct {
	Words    int
	Findings []string // each hit with its file, line and a better word
}

// Rate returns the dialect words per 1,000 words.
func (f Figure) Rate() float64 { return 1000 * float64(len(f.Findings)) / float64(max(1, f.Words)) }

// Measure counts the texts by place and kind.
func Measure(texts []Text) map[Key]Figure {
	figures := map[Key]Figure{}
	for _, t := range texts {
		key := Key{t.Place, t.Kind}
		words, hits := Count(t.Body)
		f := figures[key]
		f.Words += words
		for _, h := range hits {
			f.Findings = append(f.Findings, fmt.Sprintf("%s:%d: %q: better: %s", t.File, t.line(h.Offset), h.Word, h.Better))
		}
		figures[key] = f
	}
	return figures
}

// Check returns a text for each figure above Most, with its findings.
func Check(figures map[Key]Figure) (wrong []string) {
	byPlace := func(a, b Key) int { return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Kind, b.Kind)) }
	for _, key := range slices.SortedFunc(maps.Keys(figures), byPlace) {
		if f := figures[key]; f.Rate() > Most {
			wrong = append(wrong, fmt.Sprintf("%s: %s: %.1f dialect words per 1,000, allowed are %.1f:\n\t%s",
				key.Place, key.Kind, f.Rate(), Most, strings.Join(f.Findings, "\n\t")))
		}
	}
	return wrong
}
