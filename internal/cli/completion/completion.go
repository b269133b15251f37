package completion

import (
	"context"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/wording"
)

// Command is called by the scripts. Its arguments are the words of a command
// line up to the cursor. It prints the possible completions, one per line.
type Command struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words after foliot, up to the cursor."`
}

// Run prints the kind of the completions, and then each word with a tab and its
// meaning.
func (c *Command) Run(ctx context.Context, con *console.Console, parsed *kong.Context, server *connect.Flags) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	kind, list := Of(parsed.Model.Node, words, func(kind, typed string) []Candidate {
		return namesOf(ctx, server.With(readLine(parsed.Model.Node, words).values), kind, typed)
	})
	con.Linef("%s", kind)
	for _, w := range list {
		con.Linef("%s\t%s", w.Text, wording.Printable(w.Meaning))
	}
	return nil
}

// Kind is where a shell finds the completions.
type Kind string

const (
	ofWords       Kind = "words" // in the lines that follow
	ofFiles       Kind = "files"
	ofDirectories Kind = "directories"
)

// Candidate is a possible completion.
type Candidate struct{ Text, Meaning string }

// Names returns the names of records that begin with the typed text. The kind is
// the tag complete of a flag or an argument: task, queue, schedule, namespace or
// context.
type Names func(kind, typed string) []Candidate

// Of returns the completions of the last word, which may be incomplete. No
// words mean the same as one empty word.
func Of(root *kong.Node, words []string, names Names) (Kind, []Candidate) {
	last := ""
	if n := len(words); n > 0 {
		words, last = words[:n-1], words[n-1]
	}
	line := readLine(root, words)
	if line.open != nil {
		return valuesOf(line.open, "", last, names)
	}
	if name, value, given := strings.Cut(last, "="); given && strings.HasPrefix(name, "--") && !line.ended {
		if f := line.flag(strings.TrimPrefix(name, "--")); f != nil {
			return valuesOf(f.Value, name+"=", value, names)
		}
		return ofWords, nil
	}
	switch {
	case strings.HasPrefix(last, "-") && !line.ended:
		return ofWords, matching(last, line.flags())
	case !line.node.Leaf():
		return ofWords, matching(last, commands(line.node))
	case line.arguments < len(line.node.Positional):
		return valuesOf(line.node.Positional[line.arguments], "", last, names)
	case len(line.node.Positional) > 0 && line.node.Positional[len(line.node.Positional)-1].IsCumulative():
		return valuesOf(line.node.Positional[len(line.node.Positional)-1], "", last, names)
	}
	return ofWords, nil
}

// valuesOf returns the possible values of a flag or an argument. Each candidate
// begins with before, the part of the word in front of the value.
func valuesOf(v *kong.Value, before, typed string, names Names) (Kind, []Candidate) {
	if kind := v.Tag.Get("complete"); kind != "" {
		list := names(kind, typed)
		for i := range list {
			list[i].Text = before + list[i].Text
		}
		return ofWords, matching(before+typed, list)
	}
	if v.Enum != "" {
		var list []Candidate
		for _, word := range v.EnumSlice() {
			list = append(list, Candidate{before + word, ""})
		}
		return ofWords, matching(before+typed, list)
	}
	place := v.Name
	if v.Flag != nil {
		place = v.Flag.PlaceHolder
	}
	if strings.Contains(place, "|") { // a list of values that the server checks
		var list []Candidate
		for word := range strings.SplitSeq(place, "|") {
			list = append(list, Candidate{before + word, ""})
		}
		return ofWords, matching(before+typed, list)
	}
	switch strings.ToUpper(place) {
	case "FILE":
		return ofFiles, nil
	case "DIR":
		return ofDirectories, nil
	}
	return ofWords, nil
}

func matching(typed string, list []Candidate) []Candidate {
	var fit []Candidate
	for _, c := range list {
		if strings.HasPrefix(c.Text, typed) {
			fit = append(fit, c)
		}
	}
	return fit
}
