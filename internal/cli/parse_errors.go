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
	"github.com/foliot/foliot/internal/spelling"
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
		"remove": "cancel", "new": "add", "status": "doctor", "schedule": "cron", "schedules": "cron", "start": "serve", "server": "serve",
	}
)

// suggestions is the largest number of flags or commands that an error suggests.
const suggestions = 3

// unknown rewords the error of kong for an unknown flag or command, and suggests
// known ones. It returns other errors unchanged.
func unknown(text string, parsed *kong.Context) string {
	m := unknownWord.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	at, word := parsed.Selected(), m[2]
	if at == nil {
		at = parsed.Model.Node
	}
	switch {
	case m[1] == "unknown flag":
		return m[1] + " " + word + nearFlags(at, word)
	case at.Leaf():
		return m[1] + " " + word
	}
	return "unknown command " + word + didYouMean(nearCommands(at, word))
}

// nearFlags returns the end of the error for an unknown flag of a command.
func nearFlags(command *kong.Node, word string) string {
	var known []string
	for _, group := range command.AllFlags(true) {
		for _, f := range group {
			known = append(known, "--"+f.Name)
			if f.Tag.Negatable != "" {
				known = append(known, "--no-"+f.Name)
			}
		}
	}
	same, hasMeaning := meantFlags[word]
	switch {
	case slices.Contains(known, same):
		return didYouMean([]string{same})
	case hasMeaning:
		return ""
	}
	if near := spelling.Near(word, known, suggestions); len(near) > 0 {
		return didYouMean(near)
	}
	isFlag := func(f *kong.Flag) bool { return "--"+f.Name == word || "-"+string(f.Short) == word }
	for _, c := range command.Leaves(true) {
		if slices.ContainsFunc(c.Flags, isFlag) {
			return ": it is a flag of single commands, so write it after the command"
		}
	}
	return ""
}

// nearCommands returns the commands below a node that a word probably means:
// one with the same meaning, those of a similar name, and those of the same
// name in a group.
func nearCommands(node *kong.Node, word string) []string {
	if same := meantCommands[word]; same != "" && node.Parent == nil {
		return []string{same}
	}
	var names []string
	for _, c := range node.Children {
		if !c.Hidden {
			names = append(append(names, c.Name), c.Aliases...)
		}
	}
	near := spelling.Near(word, names, suggestions)
	if len(near) > 0 {
		return near
	}
	for _, c := range node.Leaves(true) {
		if c.Name == word && len(near) < suggestions {
			near = append(near, strings.TrimPrefix(nameOf(c), nameOf(node)+" "))
		}
	}
	return near
}

func didYouMean(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	switch len(words) {
	case 0:
		return ""
	case 1:
		return ", did you mean " + quoted[0] + "?"
	}
	return ", did you mean one of " + strings.Join(quoted, ", ") + "?"
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
	text = unknown(text, parse.Context)
	if node := parse.Context.Selected(); node != nil && nameOf(node) == "foliot cron add" && strings.HasPrefix(text, "unexpected argument") {
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
