package main

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// width is the longest line of a wrapped paragraph, in characters.
const width = 100

// wrap wraps the paragraphs and list items of a Markdown text. It leaves
// tables, headings, pictures, quotes, comments and code as they are, and
// replaces several empty lines by one.
func wrap(text string) string {
	var out, paragraph []string
	flush := func() { out, paragraph = append(out, fill(paragraph)...), nil }
	code := false
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		line = strings.TrimRight(line, " \n")
		body := strings.TrimLeft(line, " ")
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
			fallthrough
		case code, strings.HasPrefix(line, "|"), strings.HasPrefix(line, "#"), strings.HasPrefix(line, "!["),
			strings.HasPrefix(line, ">"), strings.HasPrefix(line, "<"):
			flush()
			out = append(out, line)
		case line == "":
			flush()
			if out[len(out)-1] != "" {
				out = append(out, "")
			}
		case strings.HasPrefix(body, "- "):
			flush()
			paragraph = []string{line}
		default:
			paragraph = append(paragraph, body)
		}
	}
	flush()
	return strings.Join(out, "\n") + "\n"
}

// words matches the words of a paragraph. They are separated by spaces, but not
// by non-breaking ones or by those in the text of a link.
var words = regexp.MustCompile(`(?:\[[^]]*\]\([^)]*\)|[^ ])+`)

// fill distributes the words of a paragraph over lines. Lines of a list item
// are indented like its text.
func fill(paragraph []string) (lines []string) {
	text := strings.Join(paragraph, " ")
	body := strings.TrimLeft(text, " ")
	line, indent := text[:len(text)-len(body)], len(text)-len(body)
	if strings.HasPrefix(body, "- ") {
		line, indent, body = line+"- ", indent+2, body[2:]
	}
	start := len(line)
	for _, word := range words.FindAllString(body, -1) {
		switch {
		case len(line) == start:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line, start = strings.Repeat(" ", indent)+word, -1
		}
	}
	if body == "" {
		return nil
	}
	return append(lines, line)
}
