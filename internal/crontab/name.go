package crontab

import (
	"cmp"
	"net/url"
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
		if e.Name == "" {
			e.Name = free(made(e.Request.URL), taken, used)
		}
		e.Name = prefix + e.Name
	}
}

// free returns name if it is free, or else name-2, name-3 and so on.
func free(name string, taken map[string]bool, used map[string]int) string {
	for {
		used[name]++
		n := used[name]
		candidate := name
		if n > 1 {
			candidate += "-" + strconv.Itoa(n)
		}
		if !taken[candidate] {
			taken[candidate] = true
			return candidate
		}
	}
}

// made returns a name for a URL: its host and path, with only the characters that
// a name may have.
func made(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "schedule"
	}
	var b strings.Builder
	gap := false
	for _, r := range u.Host + "/" + u.Path {
		switch {
		case r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' || r == '_':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		default:
			gap = true
		}
		if b.Len() >= longestMade {
			break
		}
	}
	return cmp.Or(strings.TrimLeft(b.String(), "._-"), "schedule")
}

// unique removes the entries with the name of an earlier line, and reports them as
// errors.
func (p *parser) unique() {
	first := make(map[string]int, len(p.table.Entries))
	kept := p.table.Entries[:0]
	for _, e := range p.table.Entries {
		if line, twice := first[e.Name]; twice {
			p.line = e.Line
			p.wrong("the name %s is already used in line %d: choose another name", quote(e.Name), line)
			continue
		}
		first[e.Name] = e.Line
		kept = append(kept, e)
	}
	p.table.Entries = kept
}
