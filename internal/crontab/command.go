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
	name := program(command)
	switch {
	case command == "":
		return Request{}, nil, fmt.Errorf("there is no command after the time: %s", takes)
	case name == "" && !isURL(command):
		return Request{}, nil, noProgram(command)
	}
	command, err := percent(command)
	if err != nil {
		return Request{}, nil, err
	}
	if name == "" {
		r, err := alone(command)
		return r, nil, err
	}
	words, files, err := split(command)
	if err != nil {
		return Request{}, nil, err
	}
	b := builder{program: name}
	for _, f := range files {
		b.warn(noFile, quote(f))
	}
	return b.request(words[1:])
}

// variable is how a word begins that sets one for a program.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func noProgram(command string) error {
	word, rest := cutField(command)
	if name := variable.FindString(word); name != "" {
		return fmt.Errorf("%s sets a variable for a program, and none is run: write into the line what needs it", quote(name+"…"))
	}
	hint := "put the program behind a URL of yours"
	if program(rest) != "" || isURL(rest) {
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
