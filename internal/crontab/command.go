package crontab

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// parseCommand returns the request of a command, and what is to be known about it.
func parseCommand(command string) (Request, []string, error) {
	known := readable(command)
	switch {
	case command == "":
		return Request{}, nil, fmt.Errorf("there is no command after the time: %s", takes)
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

// split takes a command apart, and notes what is left out of it.
func (b *builder) split(command string) ([]string, error) {
	s, err := split(command)
	for _, f := range s.files {
		b.warn(noFile, quote(f))
	}
	switch {
	case strings.HasPrefix(s.tail, "|"):
		b.warn("%s is left out: a call that fails is tried again here", quote(s.tail))
	case s.tail != "":
		b.warn("%s is left out: nothing here waits for a call", quote(s.tail))
	}
	return s.words, err
}

// variable is how a word begins that sets one for a program.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func noProgram(command string) error {
	word, rest := cutField(command)
	if name := variable.FindString(word); name != "" {
		return fmt.Errorf("%s sets a variable for a program, and none is run: write into the line what needs it", quote(name+"…"))
	}
	hint := "put the program behind a URL of yours"
	if readable(rest) || isURL(rest) {
		hint = "if it is the user of a system's crontab, --system reads those"
	}
	return fmt.Errorf("%s: foliot calls URLs and runs no programs: %s; %s", quote(word), takes, hint)
}

// takes says what a command may be.
const takes = "a command is a URL that begins with http:// or https://, or a line of curl or wget that calls one"

const noFile = "the reply is not written to %s: `foliot get` shows the beginning of it"

// program returns the program that a command runs, where it is one that can be read.
func program(command string) string {
	word, _ := cutField(command)
	if name := path.Base(word); !isURL(word) && (name == "curl" || name == "wget") {
		return name
	}
	return ""
}

// readable reports whether a command runs a program that can be read, by itself or behind others.
func readable(command string) bool {
	return program(command) != "" || wraps(command) && namesProgram(command)
}

// wraps reports whether the program that a command runs is one that runs another.
func wraps(command string) bool {
	word, _ := cutField(command)
	_, known := wrappers[path.Base(word)]
	return known && !isURL(word)
}

// namesProgram reports whether a word of a command is a program that can be read. Where
// none is, it says nothing to take the rest apart.
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

// alone reads a URL that is all of a command. No shell takes it apart.
func alone(command string) (Request, error) {
	if word, rest := cutField(command); rest != "" {
		rest, _ = cutField(rest) // more of it may be a header's secret
		return Request{}, fmt.Errorf("%s stands after the URL: nothing may; a line of curl gives headers and a body: curl -d BODY %s", quote(rest), word)
	}
	return Request{URL: command}, checkURL(command)
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || !isURL(s) || u.Host == "" {
		return fmt.Errorf("%s is no URL to call: one begins with http:// or https:// and a host", quote(s))
	}
	return nil
}
