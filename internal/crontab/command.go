package crontab

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// parseCommand returns the request of a command, and warnings about the command.
func parseCommand(command string) (Request, []string, error) {
	word, rest := cutField(command)
	switch {
	case command == "":
		return Request{}, nil, fmt.Errorf("there is no command after the time: %s", commandForm)
	case !calls(word):
		return Request{}, nil, noProgram(word, rest)
	}
	command, err := percent(command)
	if err != nil {
		return Request{}, nil, err
	}
	if isURL(word) {
		r, err := bareURL(command)
		return r, nil, err
	}
	words, files, err := split(command)
	switch {
	case err != nil:
		return Request{}, nil, err
	case len(words) == 0 || program(words[0]) == "":
		return Request{}, nil, noProgram(word, rest)
	}
	b := builder{program: program(words[0])}
	for _, f := range files {
		_ = b.toFile(f)
	}
	err = b.build(words[1:])
	return b.request, b.warnings, err
}

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
	return fmt.Errorf("%s: foliot calls URLs and runs no programs: %s; %s", quote(word), commandForm, hint)
}

// commandForm describes the valid commands, for errors.
const commandForm = "a command must be a URL that begins with http:// or https://, or curl or wget with one"

// program returns "curl" or "wget" if a word names that program, and otherwise "".
func program(word string) string {
	if name := path.Base(word); !isURL(word) && !strings.Contains(word, "=") && (name == "curl" || name == "wget") {
		return name
	}
	return ""
}

// calls reports whether a word begins a valid command.
func calls(word string) bool { return isURL(word) || program(word) != "" }

func isURL(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// bareURL parses a command that is only a URL. The URL is not split as in a shell.
func bareURL(command string) (Request, error) {
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
