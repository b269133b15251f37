package crontab

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// parseCommand returns the request of a command, and warnings about the command.
func parseCommand(command string) (request, []string, error) {
	word, rest := cutField(command)
	if !calls(word) {
		return request{}, nil, noProgram(word, rest)
	}
	if newline.MatchString(command) {
		return request{}, nil, errors.New(`in a crontab, % is a newline, and the text after the first % is the input of a program: write \% for a %, and pass a body with -d`)
	}
	command = strings.ReplaceAll(command, `\%`, `%`)
	if isURL(word) { // it is not split as in a shell
		if rest, _ = cutField(rest); rest != "" { // the next words may contain a secret
			return request{}, nil, fmt.Errorf("%s follows the URL, and nothing may: to set headers and a body, use curl: curl -d BODY %s", quote(rest), word)
		}
		return request{URL: command}, nil, checkURL(command)
	}
	words, files, err := split(command)
	if err != nil {
		return request{}, nil, err
	}
	b := builder{program: path.Base(words[0])}
	for _, f := range files {
		_ = b.toFile(f)
	}
	err = b.build(words[1:])
	return b.request, b.warnings, err
}

// newline matches a %, except \%.
var newline = regexp.MustCompile(`(^|[^\\])%`)

// noProgram returns the error for a command that runs another program. It names
// only the program, because its arguments may contain a secret.
func noProgram(word, rest string) error {
	if name, _, ok := strings.Cut(word, "="); ok {
		word = name + "=…"
	}
	hint := "to run a program, let an HTTP server of yours run it, and call the URL of that server"
	if slices.ContainsFunc(strings.Fields(rest), calls) {
		hint = "omit the words before the URL, curl or wget: --max-time and --overlap skip replace timeout and flock; if it is the user in a system crontab, pass --system"
	}
	return fmt.Errorf("%s: foliot calls URLs and runs no programs: a command must be a URL that begins with http:// or https://, or curl or wget with one; %s", quote(word), hint)
}

// isWord matches a word that needs no quotes in a shell.
var isWord = regexp.MustCompile(`^[\w./+-]+$`)

// calls reports whether a word begins a valid command: a URL, curl or wget.
func calls(word string) bool {
	name := path.Base(word)
	return isURL(word) || isWord.MatchString(word) && (name == "curl" || name == "wget")
}

func isURL(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || !isURL(s) || u.Host == "" {
		return fmt.Errorf("%s is not a valid URL: it must begin with http:// or https:// and a host", quote(s))
	}
	return nil
}

// redirection matches a redirection of the output, and the file.
var redirection = regexp.MustCompile(`^(?:[12]?>&[12]|[12&]?>>?[ \t]*([\w./@:+-]+))(?:[ \t]+|$)`)

// split splits a command into words as a POSIX shell does, and returns the files
// to which the output is redirected apart from them.
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

// cutWord cuts the first word from a command, without its quotes, and refuses
// characters that a shell interprets.
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
		case c == '\\' || c == '$' || c == '`' || quote == 0 && strings.IndexByte(special, c) >= 0:
			return "", "", fmt.Errorf("a shell would interpret %q, and Foliot runs none: write a URL, or a plain curl or wget; if the character is meant as it is, put the word in single quotes", string(c))
		}
		b = append(b, text[i])
	}
	if quote != 0 {
		return "", "", fmt.Errorf("a closing %c is missing", quote)
	}
	return string(b), "", nil
}
