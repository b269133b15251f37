package cli

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/server/config"
)

// parserWordings rewords errors of kong about values.
var parserWordings = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`(?s) \(from envar (\w+)=.*\)$`), " (environment $1)"},
	{regexp.MustCompile(`expected .* value but got "EOL".*$`), "a value is missing"},
	{regexp.MustCompile(`bool value must be .* but got (".*")`), "$1 is neither true nor false"},
}

// unknownWord matches the error of kong for an unknown flag or command, with its
// suggestions.
var unknownWord = regexp.MustCompile(`^(unknown flag|unexpected argument) (\S+?)(?:, did you mean .*)?$`)

// meantFlags and meantCommands list flags and commands of other programs, and
// ours with the same meaning. Their spelling is not similar.
var (
	meantFlags = map[string]string{
		"--redis": "--store", "--db": "--store", "--database": "--store",
		"--port": "--listen", "--addr": "--listen", "--address": "--listen", "--bind": "--listen",
	}
	meantCommands = map[string]string{
		"delete": "cancel", "rm": "cancel", "remove": "cancel", "create": "add", "new": "add", "list": "ls", "tasks": "ls",
		"status": "doctor", "schedule": "cron", "schedules": "cron", "start": "serve", "server": "serve",
	}
)

// meant returns the text of an error about an unknown word, with a suggestion if
// the word has the meaning of a flag or a command of Foliot.
func meant(text string, parsed *kong.Context) string {
	m := unknownWord.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	known := meantCommands[m[2]]
	if m[1] == "unknown flag" {
		known = meantFlags[m[2]]
		if !slices.ContainsFunc(parsed.Flags(), func(f *kong.Flag) bool { return "--"+f.Name == known }) {
			known = ""
		}
	} else if parsed.Selected() != nil {
		known = ""
	}
	if known == "" {
		return text
	}
	return fmt.Sprintf("%s %s, did you mean %q?", m[1], m[2], known)
}

// notOneOf matches the error of kong for a value that is not in an enum.
var notOneOf = regexp.MustCompile(`(?s)^(\S+) must be one of (.*) but got (".*")$`)

// rewordParseError returns a parse error in the form of the errors of a
// configuration file: the flag, the value, the accepted values, and the
// variable if the value comes from one.
func rewordParseError(err error) error {
	var parse *kong.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	text := err.Error()
	for _, w := range parserWordings {
		text = w.from.ReplaceAllString(text, w.to)
	}
	text = meant(text, parse.Context)
	if node := parse.Context.Selected(); node != nil && node.FullPath() == "foliot cron add" && strings.HasPrefix(text, "unexpected argument") {
		text += `; write the expression as one argument, in quotes: "0 21 * * *"`
	}
	if m := notOneOf.FindStringSubmatch(text); m != nil {
		choice := strings.NewReplacer(`"`, "", ",", ", ").Replace(m[2])
		text = fmt.Sprintf("%s: %s is not one of %s", m[1], m[3], choice)
		for _, flag := range parse.Context.Flags() {
			name := config.VariableOf(flag)
			if "--"+flag.Name == m[1] && name != "" && strconv.Quote(os.Getenv(name)) == m[3] {
				text += " (environment " + name + ")"
			}
		}
	}
	return errors.New(text)
}
