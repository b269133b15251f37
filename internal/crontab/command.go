package crontab

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// parseCommand returns the request of a command, and warnings about the command.
func parseCommand(command string) (Request, []string, error) {
	known := readable(command)
	switch {
	case command == "":
		return Request{}, nil, fmt.Errorf("there is no command after the time: %s", commandForm)
	case !known && !isURL(command):
		return Request{}, nil, noProgram(command)
	}
	command, err := percent(command)
	if err != nil {
		return Request{}, nil, err
	}
	if !known {
		r, err := alone(command)
		return r, nil, err
	}
	var b builder
	words, err := b.split(command)
	if err == nil {
		words, err = b.unwrap(words)
	}
	if err != nil {
		return Request{}, nil, err
	}
	if len(words) == 0 {
		return Request{}, nil, noProgram(command)
	}
	if b.program = program(words[0]); b.program == "" || strings.ContainsAny(words[0], " \t") {
		return Request{}, nil, noProgram(words[0])
	}
	return b.request(words[1:])
}

// split splits a command into words, and warns about the parts that are ignored.
func (b *builder) split(command string) ([]string, error) {
	s, err := split(command)
	for _, f := range s.files {
		b.warn(noFile, quote(f))
	}
	switch {
	case strings.HasPrefix(s.tail, "|"):
		b.warn("%s is ignored: Foliot retries a call that fails", quote(s.tail))
	case s.tail != "":
		b.warn("%s is ignored: no program waits for the call", quote(s.tail))
	}
	return s.words, err
}

// variable matches the beginning of a word that sets a variable.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func noProgram(command string) error {
	word, rest := cutField(command)
	if name := variable.FindString(word); name != "" {
		return fmt.Errorf("%s sets a variable, and Foliot runs no program that could read it: write its value where it is used", quote(name+"…"))
	}
	hint := "to run a program, let an HTTP server of yours run it, and call the URL of that server"
	if readable(rest) || isURL(rest) {
		hint = "if it is the user in a system crontab, pass --system"
	}
	return fmt.Errorf("%s: foliot calls URLs and runs no programs: %s; %s", quote(word), commandForm, hint)
}

// commandForm describes the valid commands, for errors.
const commandForm = "a command must be a URL that begins with http:// or https://, or curl or wget with one"

const noFile = "the reply is not written to %s: `foliot get` shows its beginning"

// program returns "curl" or "wget" if a command runs that program, and otherwise
// "".
func program(command string) string {
	word, _ := cutField(command)
	if name := path.Base(word); !isURL(word) && (name == "curl" || name == "wget") {
		return name
	}
	return ""
}

// readable reports whether a command runs curl or wget, directly or through a
// wrapper.
func readable(command string) bool {
	return program(command) != "" || wraps(command) && namesProgram(command)
}

// wraps reports whether a command begins with a wrapper: a program that runs
// another one.
func wraps(command string) bool {
	word, _ := cutField(command)
	_, known := wrappers[path.Base(word)]
	return known && !isURL(word)
}

// namesProgram reports whether a word of a command is curl or wget. Otherwise the
// command need not be split.
func namesProgram(command string) bool {
	for word := range strings.FieldsFuncSeq(command, func(r rune) bool { return strings.ContainsRune(" \t'\"", r) }) {
		if program(word) != "" {
			return true
		}
	}
	return false
}

func isURL(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// alone parses a command that is only a URL. The URL is not split as in a shell.
func alone(command string) (Request, error) {
	if word, rest := cutField(command); rest != "" {
		rest, _ = cutField(rest) // the next words may contain a secret
		return Request{}, fmt.Errorf("%s follows the URL, and nothing may: to set headers and a body, use curl: curl -d BODY %s", quote(rest), word)
	}
	return Request{URL: command}, checkURL(command)
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || !isURL(s) || u.Host == "" {
		return fmt.Errorf("%s is not a valid URL: it must begin with http:// or https:// and a host", quote(s))
	}
	return nil
}

// calls reports whether a word begins a valid command.
func calls(word string) bool { return isURL(word) || program(word) != "" || wraps(word) }
