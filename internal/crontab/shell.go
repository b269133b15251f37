package crontab

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// simple is a command that is one program with its arguments.
type simple struct {
	words []string
	files []string // where output went, but for /dev/null
	tail  string   // what stands behind it that says nothing of it: "|| true", "&"
}

// split takes a command apart as a POSIX shell does, as far as that is one
// program with its arguments. What is more than that is an error.
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
	text string // what is left
	tail string // that was left out at the end
	err  error
}

func (s *splitter) fail(format string, args ...any) { s.err = fmt.Errorf(format, args...) }

// endings are what a command may end with, as nobody here reads its exit code or waits for it.
var endings = regexp.MustCompile(`^(\|\|[ \t]*(?:true|/bin/true|/usr/bin/true|:|exit[ \t]+0))?[ \t]*(&)?[ \t]*(?:[ \t]#.*)?$`)

// ends reports whether all that is left is such an ending, and takes it.
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

// skipSpace goes to the next word, and reports whether there is one.
func (s *splitter) skipSpace() bool {
	s.text = strings.TrimLeft(s.text, " \t")
	return s.text != "" && s.text[0] != '#'
}

// word reads a word, or a redirection and the file that it names.
func (s *splitter) word() (word string, redirected bool) {
	if target, ok := s.redirection(); ok {
		return target, true
	}
	return s.plain(), false
}

// redirection reads one of output: >FILE, 2>>FILE, 2>&1, &>FILE.
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
				s.err = errors.New(`a \ at the end continues no line of a crontab: write all of it in one`)
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

// single reads what stands between single quotes.
func (s *splitter) single() string {
	inside, after, closed := strings.Cut(s.text[1:], "'")
	if !closed {
		s.err = errors.New("a ' has no end: quotes come in pairs")
		return ""
	}
	s.text = after
	return inside
}

// double reads what stands between double quotes; the first is read.
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
	s.err = errors.New(`a " has no end: quotes come in pairs`)
}

// refuse fails at a character that is more to a shell than itself.
func (s *splitter) refuse(c byte) {
	switch c {
	case '$', '`':
		s.fail("a shell would put something in the place of %s, and none is run: write it out, or in single quotes where it stands for itself", quote(head(s.text, c)))
	case '|', '&', ';', '(', ')':
		s.fail("%q is more than one program, and none is run: a URL is called once for each line; where the character belongs to the URL, quote that", string(c))
	case '<':
		s.fail("%q is a file of this machine, and the server reads none: give the body with -d", string(c))
	}
}

// head returns the beginning of text, with c in front if that was read.
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

var errPercent = errors.New(`% is a newline in a crontab, and what follows the first is a program's input: write \% where % is meant, and give a body with -d`)

// percent undoes what cron does to %. It refuses one that is a newline.
func percent(command string) (string, error) {
	for i := range len(command) {
		if command[i] == '%' && (i == 0 || command[i-1] != '\\') {
			return "", errPercent
		}
	}
	return strings.ReplaceAll(command, `\%`, `%`), nil
}
