package crontab

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// simple is a command with only one program and its arguments.
type simple struct {
	words []string
	files []string // the targets of its output, except /dev/null
	tail  string   // an ignored ending: "|| true", "&"
}

// split splits a command as a POSIX shell does. It returns an error if the command
// is more than one program with its arguments.
func split(command string) (simple, error) {
	var c simple
	s := &splitter{text: command}
	for s.err == nil && s.skipSpace() && !s.ends() {
		word, redirected := s.word()
		switch {
		case !redirected:
			c.words = append(c.words, word)
		case word != "/dev/null" && word != "":
			c.files = append(c.files, word)
		}
	}
	c.tail = s.tail
	return c, s.err
}

// splitter reads a command from its front.
type splitter struct {
	text string // not read yet
	tail string // the ignored ending
	err  error
}

func (s *splitter) fail(format string, args ...any) { s.err = fmt.Errorf(format, args...) }

// endings matches the endings that are ignored, because the exit code is not used
// and no program waits.
var endings = regexp.MustCompile(`^(\|\|[ \t]*(?:true|/bin/true|/usr/bin/true|:|exit[ \t]+0))?[ \t]*(&)?[ \t]*(?:[ \t]#.*)?$`)

// ends reports whether the remaining text is such an ending, and reads it.
func (s *splitter) ends() bool {
	if s.text == "" || s.text[0] != '|' && s.text[0] != '&' {
		return false
	}
	m := endings.FindStringSubmatch(s.text)
	if m == nil {
		return false
	}
	s.tail, s.text = strings.TrimSpace(m[1]+" "+m[2]), ""
	return true
}

// skipSpace moves to the next word, and reports whether there is one.
func (s *splitter) skipSpace() bool {
	s.text = strings.TrimLeft(s.text, " \t")
	return s.text != "" && s.text[0] != '#'
}

// word reads a word, or a redirection. For a redirection it returns the file.
func (s *splitter) word() (word string, redirected bool) {
	if target, ok := s.redirection(); ok {
		return target, true
	}
	return s.plain(), false
}

// redirection reads a redirection of output: >FILE, 2>>FILE, 2>&1, &>FILE.
func (s *splitter) redirection() (target string, ok bool) {
	rest := strings.TrimLeft(s.text, "0123456789")
	if rest == s.text {
		rest = strings.TrimPrefix(rest, "&")
	}
	if !strings.HasPrefix(rest, ">") {
		return "", false
	}
	rest = rest[1:]
	after, isCopy := strings.CutPrefix(rest, "&")
	if !isCopy {
		after = strings.TrimPrefix(strings.TrimPrefix(rest, ">"), "|")
	}
	s.text = after
	if !s.skipSpace() {
		s.fail("a file is missing after >")
		return "", true
	}
	target = s.plain()
	if isCopy && strings.Trim(target, "0123456789-") == "" {
		target = ""
	}
	return target, true
}

// plain reads a word with its quotes.
func (s *splitter) plain() string {
	var b strings.Builder
	for s.err == nil && s.text != "" {
		c := s.text[0]
		switch c {
		case ' ', '\t', '>':
			return b.String()
		case '|', '&':
			if !s.ends() {
				s.refuse(c)
			}
			return b.String()
		case '\'':
			b.WriteString(s.single())
			continue
		case '"':
			s.text = s.text[1:]
			s.double(&b)
			continue
		case '\\':
			if len(s.text) == 1 {
				s.err = errors.New(`a line of a crontab cannot be continued with \ at the end: write it in one line`)
				return ""
			}
			s.text = s.text[1:]
			c = s.text[0]
		default:
			if s.refuse(c); s.err != nil {
				return ""
			}
		}
		b.WriteByte(c)
		s.text = s.text[1:]
	}
	return b.String()
}

// single reads text in single quotes.
func (s *splitter) single() string {
	inside, after, closed := strings.Cut(s.text[1:], "'")
	if !closed {
		s.err = errors.New("a closing ' is missing")
		return ""
	}
	s.text = after
	return inside
}

// double reads text in double quotes. The first quote is already read.
func (s *splitter) double(b *strings.Builder) {
	for s.text != "" {
		c := s.text[0]
		s.text = s.text[1:]
		switch {
		case c == '"':
			return
		case c == '$' || c == '`':
			s.refuse(c)
			return
		case c == '\\' && s.text != "" && strings.IndexByte("$`\"\\", s.text[0]) >= 0:
			c = s.text[0]
			s.text = s.text[1:]
		}
		b.WriteByte(c)
	}
	s.err = errors.New(`a closing " is missing`)
}

// refuse fails at a character with a special meaning in a shell.
func (s *splitter) refuse(c byte) {
	switch c {
	case '$', '`':
		s.fail("a shell would replace %s, and Foliot runs no shell: write the value, or put it in single quotes to keep it unchanged", quote(head(s.text, c)))
	case '|', '&', ';', '(', ')':
		s.fail("%q joins several programs, and Foliot runs none: write one line for each URL; if the character is a part of the URL, put the URL in quotes", string(c))
	case '<':
		s.fail("%q reads a file of this machine, which the server cannot do: pass the body with -d", string(c))
	}
}

// head returns the beginning of text. It adds c in front if c was already read.
func head(text string, c byte) string {
	if !strings.HasPrefix(text, string(c)) {
		text = string(c) + text
	}
	end := strings.IndexAny(text, " \t\"'")
	if end < 0 {
		end = len(text)
	}
	return text[:end]
}

var errPercent = errors.New(`in a crontab, % is a newline, and the text after the first % is the input of a program: write \% for a %, and pass a body with -d`)

// percent replaces \% by %, as cron does. It refuses a % that means a newline.
func percent(command string) (string, error) {
	for i := range len(command) {
		if command[i] == '%' && (i == 0 || command[i-1] != '\\') {
			return "", errPercent
		}
	}
	return strings.ReplaceAll(command, `\%`, `%`), nil
}
