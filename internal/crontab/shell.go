package crontab

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// redirection matches a redirection of the output, and the file.
var redirection = regexp.MustCompile(`^(?:[12]?>&[12]|[12&]?>>?[ \t]*([\w./@:+-]+))(?:[ \t]+|$)`)

// split splits a command into words as a POSIX shell does. It returns the files to
// which the output is redirected apart from them.
func split(text string) (words, files []string, err error) {
	for text = strings.TrimLeft(text, " \t"); text != "" && text[0] != '#'; text = strings.TrimLeft(text, " \t") {
		if m := redirection.FindStringSubmatch(text); m != nil {
			files, text = append(files, m[1]), text[len(m[0]):]
			continue
		}
		var word string
		if word, text, err = cutWord(text); err != nil {
			return nil, nil, err
		}
		words = append(words, word)
	}
	return words, files, nil
}

// cutWord cuts the first word from a command, without its quotes. It refuses what
// a shell would interpret in another way.
func cutWord(text string) (word, rest string, err error) {
	special := "|&;()<>{}*?[]~"
	if isURL(text) {
		special = "|&;()<>{}*" // no file has such a name, so a shell leaves the rest unchanged
	}
	var b []byte
	var quote byte // around the present character; 0 for none
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == quote:
			quote = 0
			continue
		case quote == '\'':
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
			continue
		case quote == 0 && (c == ' ' || c == '\t'):
			return string(b), text[i:], nil
		case c == '\\' && i+1 < len(text):
			if quote == 0 || strings.IndexByte("$`\"\\", text[i+1]) >= 0 {
				i++
			}
		case c == '\\':
			return "", "", errors.New(`a line of a crontab cannot be continued with \ at the end: write it in one line`)
		case c == '$' || c == '`' || quote == 0 && strings.IndexByte(special, c) >= 0:
			return "", "", fmt.Errorf("a shell would interpret %q, and Foliot runs none: write a URL, or a plain curl or wget; if the character is meant as it is, put the word in single quotes", string(c))
		}
		b = append(b, text[i])
	}
	if quote != 0 {
		return "", "", fmt.Errorf("a closing %c is missing", quote)
	}
	return string(b), "", nil
}

// newline matches a %, except \%.
var newline = regexp.MustCompile(`(^|[^\\])%`)

// percent replaces \% by %, as cron does. It refuses a % that means a newline.
func percent(command string) (string, error) {
	if newline.MatchString(command) {
		return "", errors.New(`in a crontab, % is a newline, and the text after the first % is the input of a program: write \% for a %, and pass a body with -d`)
	}
	return strings.ReplaceAll(command, `\%`, `%`), nil
}
