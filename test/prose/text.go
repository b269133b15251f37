package prose

import (
	"regexp"
	"strings"
)

// Kind says which rule read a text. The figures of a package are counted by
// kind, because good comments must not hide bad messages.
type Kind string

// The kinds.
const (
	Comments Kind = "comments" // of Go and Lua code, tests too, and of other files with line comments
	Strings  Kind = "strings"  // literals and help tags of Go code except tests, texts of dashboards and alerts
	Page     Kind = "page"     // Markdown
)

// Text is a piece of prose with its place in the repository.
type Text struct {
	Place string // the directory, or the page itself
	Kind  Kind
	File  string
	Line  int    // of its first line
	Body  string // as many line ends as the source has, so that lines can be counted
}

// line returns the line of the file on which the offset stands.
func (t Text) line(offset int) int { return t.Line + strings.Count(t.Body[:offset], "\n") }

// hole stands for a value in a message: a verb or an operand. It belongs to no
// word, and no phrase spans it.
const hole = "\ufffc"

var (
	codeOnALine = regexp.MustCompile("`[^`\n]*`")
	url         = regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s)>"]+`)
	verb        = regexp.MustCompile(`%[-+#0-9.*\[\]]*[a-zA-Z]`)
	template    = regexp.MustCompile(`\{\{[^}\n]*\}\}`)
	twoWords    = regexp.MustCompile(`[\p{L}` + hole + `][,.;:!?)"']*\s+["'(]*[\p{L}` + hole + `]`)
)

// blank replaces each match of the pattern by spaces, and keeps line ends.
func blank(text string, pattern *regexp.Regexp) string {
	return pattern.ReplaceAllStringFunc(text, func(s string) string {
		return strings.Repeat(" ", len(s)-strings.Count(s, "\n")) + strings.Repeat("\n", strings.Count(s, "\n"))
	})
}

// plain leaves the prose of a comment: no code in backquotes, no URLs.
func plain(comment string) string {
	if strings.Contains(comment, "`") {
		comment = blank(comment, codeOnALine)
	}
	if strings.Contains(comment, "://") {
		comment = blank(comment, url)
	}
	return comment
}

// message leaves the prose of a string, and reports whether it has any: a
// phrase of two words, or a word and a value.
func message(s string) (string, bool) {
	if !strings.ContainsAny(s, " \n\t") {
		return s, false
	}
	s = template.ReplaceAllString(verb.ReplaceAllString(plain(s), hole), hole)
	return s, twoWords.MatchString(s)
}
