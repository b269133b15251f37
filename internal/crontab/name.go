package crontab

import (
	"cmp"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// longestMade bounds a name that is made from a URL.
const longestMade = 100

// nameAll gives each entry its full name. The names are the same each time the
// same crontab is parsed.
func nameAll(entries []Entry, prefix string) {
	taken := make(map[string]bool, len(entries))
	for _, e := range entries {
		taken[e.Name] = true
	}
	used := make(map[string]int, len(entries)) // the number of times that a name was made
	for i := range entries {
		e := &entries[i]
		for made := nameOf(e.Request.URL); e.Name == ""; {
			used[made]++
			name := made
			if n := used[made]; n > 1 {
				name += "-" + strconv.Itoa(n)
			}
			if !taken[name] {
				taken[name], e.Name = true, name
			}
		}
		e.Name = prefix + e.Name
	}
}

// notName matches the characters that a name may not have.
var notName = regexp.MustCompile(`[^0-9A-Za-z._]+`)

// nameOf returns a name for a URL, made from its host and path.
func nameOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "schedule"
	}
	name := notName.ReplaceAllString(u.Host+"/"+u.Path, "-")
	name = strings.TrimRight(name[:min(len(name), longestMade)], "-")
	return cmp.Or(strings.TrimLeft(name, "._-"), "schedule")
}
