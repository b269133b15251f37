package usage

import "github.com/foliot/foliot/internal/spelling"

// DidYouMean returns the end of a sentence about an unknown word: the nearest of
// the known ones, "" if none is near.
func DidYouMean(word string, known []string) string {
	if near := spelling.Nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
