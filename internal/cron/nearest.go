package cron

import (
	_ "embed"
	"strings"

	"github.com/foliot/foliot/internal/spelling"
)

// names lists the names of the database, one per line, because the standard
// library has no list. It is used only to correct typing errors, so a missing
// name does no harm.
//
//go:embed names.txt
var names string

// nearest returns the name that the user probably meant. It is one with the
// same spelling except for case and spaces, or one that ends in this city, or
// else the one with the fewest differing letters, if few.
func nearest(name string) string {
	name = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), " ", "_"))
	if len(name) < 3 || len(name) > longestName {
		return ""
	}
	best, fewest := "", len(name)/4+1
	for line := range strings.Lines(names) {
		known := strings.TrimSuffix(line, "\n")
		lower := strings.ToLower(known)
		switch {
		case lower == name:
			return known
		case strings.HasSuffix(lower, "/"+name):
			best, fewest = known, 0
		case fewest > 0:
			if d := spelling.Distance(lower, name); d < fewest {
				best, fewest = known, d
			}
		}
	}
	return best
}
