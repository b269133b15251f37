package cli

import (
	"errors"
	"fmt"
	"os"
	"regexp"
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

// unexpected matches the error of kong for an unknown command.
var unexpected = regexp.MustCompile(`^unexpected argument `)

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
	if at := parse.Context.Selected(); at == nil || !at.Leaf() {
		text = unexpected.ReplaceAllString(text, "unknown command ")
	}
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
