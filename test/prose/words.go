package prose

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"
)

//go:embed dialect.txt
var dialectList string

// dialect is one word or phrase to avoid.
type dialect struct {
	phrase []string
	better string
}

// dialects has the list by the first word of each phrase, long phrases first.
var dialects = parseDialects(dialectList)

func parseDialects(list string) map[string][]dialect {
	all := map[string][]dialect{}
	for line := range strings.Lines(list) {
		phrases, better, is := strings.Cut(line, "=")
		if !is || strings.HasPrefix(line, "#") {
			continue
		}
		for p := range strings.SplitSeq(phrases, ",") {
			words := strings.Fields(p)
			all[words[0]] = append(all[words[0]], dialect{words, strings.TrimSpace(better)})
		}
	}
	for _, same := range all {
		slices.SortStableFunc(same, func(a, b dialect) int { return len(b.phrase) - len(a.phrase) })
	}
	return all
}

// Hit is one dialect word or phrase in a text.
type Hit struct {
	Offset int // in bytes from the start of the text
	Word   string
	Better string
}

// Count returns how many words text has, and the dialect among them in order of
// place.
func Count(text string) (words int, hits []Hit) {
	all := split(text)
	for i := 0; i < len(all); i++ {
		if h, n := match(text, all[i:]); n > 0 {
			hits = append(hits, h)
			i += n - 1
		}
	}
	return len(all), hits
}

// word is one word of a text, in lower case and without a possessive s.
type word struct {
	lower      string
	start, end int
}

func split(text string) []word {
	var all []word
	start := -1
	flush := func(end int) {
		if start < 0 {
			return
		}
		const quotes = "'’"
		raw := text[start:end]
		start += len(raw) - len(strings.TrimLeft(raw, quotes))
		lower := strings.ToLower(strings.Trim(raw, quotes))
		lower = strings.TrimSuffix(strings.TrimSuffix(lower, "'s"), "’s")
		if lower != "" {
			all = append(all, word{lower, start, end})
		}
		start = -1
	}
	for i, r := range text {
		inside := unicode.IsLetter(r) || r == '\'' || r == '’'
		if inside && start < 0 {
			start = i
		} else if !inside {
			flush(i)
		}
	}
	flush(len(text))
	return all
}

// match returns the phrase at the beginning of words, the longest if there are
// several, and how many words it has. 0: there is none.
func match(text string, words []word) (Hit, int) {
	for _, d := range dialects[words[0].lower] {
		if begins(text, words, d.phrase) {
			return Hit{words[0].start, strings.Join(d.phrase, " "), d.better}, len(d.phrase)
		}
	}
	return Hit{}, 0
}

func begins(text string, words []word, phrase []string) bool {
	if len(phrase) > len(words) {
		return false
	}
	for i, p := range phrase {
		if words[i].lower != p {
			return false
		}
		if i > 0 && strings.TrimSpace(text[words[i-1].end:words[i].start]) != "" {
			return false
		}
	}
	return true
}
