package spelling

import "strings"

// longest is the length from which a word is no misspelled name. It bounds the
// work for words that strangers choose.
const longest = 64

// separators are of no consequence: max-attempts and maxAttempts are max_attempts.
var separators = strings.NewReplacer("_", "", "-", "", " ", "")

func fold(word string) string { return separators.Replace(strings.ToLower(word)) }

// Nearest returns the word of known that was probably meant by word: one that
// differs in case and separators alone, or else the one with the fewest
// differing letters, or else one that ends in word. The first of several equals
// wins. It returns "" if no word is near.
//
// A known word may be a path such as retry.max_attempts: its last part counts.
func Nearest(word string, known []string) string {
	if len(word) > longest {
		return ""
	}
	word = fold(word)
	if len(word) < 2 {
		return ""
	}
	best, fewest, ending := "", (len(word)-1)/4+2, ""
	for _, k := range known {
		last := fold(k[strings.LastIndexByte(k, '.')+1:])
		if last == word {
			return k
		}
		if d := Distance(last, word); d < fewest && d < len(word)-1 {
			best, fewest = k, d
		}
		if ending == "" && len(word) > 3 && strings.HasSuffix(last, word) {
			ending = k
		}
	}
	if best == "" {
		return ending
	}
	return best
}

// Distance returns how many letters to insert, delete or replace, or neighbours to
// swap, to make one of the other.
func Distance(a, b string) int {
	n := len(b) + 1
	before, above, row := make([]int, n), make([]int, n), make([]int, n)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := above[j]
			if a[i] != b[j] {
				cost++
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, before[j-1]+1)
			}
			row[j+1] = min(cost, row[j]+1, above[j+1]+1)
		}
	}
	return row[len(b)]
}
