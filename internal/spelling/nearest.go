package spelling

import "strings"

// longest is the longest word that Nearest compares. It bounds the work for words
// from untrusted input.
const longest = 64

// separators removes separators, so that max-attempts and maxAttempts equal
// max_attempts.
var separators = strings.NewReplacer("_", "", "-", "", " ", "")

func fold(word string) string { return separators.Replace(strings.ToLower(word)) }

// Nearest returns the known word that word probably means. It prefers a word that
// differs only in case and separators, then the word with the fewest differing
// letters, then a word that ends in word. Of several equal ones it returns the
// first. It returns "" if no word is similar.
//
// A known word may be a path such as retry.max_attempts. Then only its last part
// is compared.
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

// Distance returns the edit distance of a and b: the number of letters to insert,
// delete or replace, or of neighbours to swap.
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
