package prose

import (
	"path"
	"regexp"
	"strings"
)

var (
	linkTarget = regexp.MustCompile(`\]\([^)\n]*\)`)
	linkLabel  = regexp.MustCompile(`(?m)^\s*\[[^\]\n]+\]:\s.*$`)
	tag        = regexp.MustCompile(`<[^>\n]*>`)
	inlineCode = regexp.MustCompile("(``+)[^\n]*?``+|`[^`]*`")
)

// Markdown returns the paragraphs of a page: no code, no addresses of links.
// Each row of a table is a paragraph, and each cell ends a phrase, as the bar
// between two cells does.
func Markdown(name string, src []byte) []Text {
	var texts []Text
	var body strings.Builder
	first, fence := 1, ""
	flush := func(next int) {
		if strings.TrimSpace(body.String()) != "" {
			texts = append(texts, Text{Place: name, Kind: Page, File: name, Line: first, Body: unmarked(body.String())})
		}
		body.Reset()
		first = next
	}
	n := 0
	for line := range strings.Lines(string(src)) {
		n++
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			first = n + 1
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			flush(n + 1)
			fence = trimmed[:3]
		case trimmed == "":
			flush(n + 1)
		case strings.HasPrefix(trimmed, "|"):
			flush(n)
			body.WriteString(line)
			flush(n + 1)
		default:
			body.WriteString(line)
		}
	}
	flush(n)
	return texts
}

func unmarked(paragraph string) string {
	for _, pattern := range []*regexp.Regexp{inlineCode, linkTarget, linkLabel, url, tag} {
		paragraph = blank(paragraph, pattern)
	}
	return paragraph
}

// marker starts a comment in files that are not Go.
var marker = map[string]string{
	".lua": "--", ".py": "#", ".sh": "#", ".yaml": "#", ".yml": "#", ".c": "//", ".ts": "//", ".mod": "//", "Makefile": "#", "run": "#",
}

// Lines returns the comments of a file in a language with line comments. It
// returns none for an unknown language.
func Lines(name string, src []byte) []Text {
	start, known := marker[path.Ext(name)]
	if !known {
		start, known = marker[path.Base(name)]
	}
	if !known {
		return nil
	}
	var body strings.Builder
	found := false
	for line := range strings.Lines(string(src)) {
		at := strings.Index(line, start)
		if at >= 0 && (at == 0 || strings.ContainsAny(line[at-1:at], " \t")) {
			body.WriteString(line[at+len(start):])
			found = true
			continue
		}
		body.WriteString("\n")
	}
	if !found {
		return nil
	}
	return []Text{{Place: path.Dir(name), Kind: Comments, File: name, Line: 1, Body: plain(body.String())}}
}

// caption is a text of an alert rule or of a dashboard.
var caption = regexp.MustCompile(`^\s*"?(?:summary|description|title)"?:\s*(.*)$`)

// Captions returns the texts that operators read in rules and dashboards.
func Captions(name string, src []byte) []Text {
	var texts []Text
	n := 0
	for line := range strings.Lines(string(src)) {
		n++
		m := caption.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		if text, is := message(m[1]); is {
			texts = append(texts, Text{Place: path.Dir(name), Kind: Strings, File: name, Line: n, Body: text})
		}
	}
	return texts
}
