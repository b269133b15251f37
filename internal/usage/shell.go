package usage

import (
	"strings"
	"unicode"
)

// ShellWord quotes s, such as a path, as one word of a command that sh, dash,
// bash, zsh and fish read alike. A word with a control character has no such
// form: it becomes an ellipsis, which the command does not find.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("/._-+:@,", r)
	}
	if strings.HasPrefix(s, "-") {
		s = "./" + s // the command must not take it for a flag
	}
	switch {
	case strings.ContainsFunc(s, unicode.IsControl):
		return "…"
	case s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }):
		return s
	}
	// Within quotes a backslash is special for fish only.
	return "'" + strings.NewReplacer(`'`, `'\''`, `\`, `'\\'`).Replace(s) + "'"
}
