package usage

import "github.com/foliot/foliot/internal/spelling"

// DidYouMean returns the end of a sentence about an unknown word. It names the
// most similar known word, or "" if no known word is similar.
func DidYouMean(word string, known []string) string {
	if near := spelling.Nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
