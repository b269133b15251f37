// Package completion completes command lines in bash, zsh and fish. The script of
// a shell calls the hidden command foliot complete.
package completion

import (
	"embed"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/wording"
)

// scripts call `foliot complete` for the completions. bash splits words at =
// and :. Its script joins them for the call, and removes the joined part from
// the completions.
//
//go:embed scripts
var scripts embed.FS

// Script is the command foliot completion.
type Script struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (Script) Help() string {
	return `Prints a script that completes commands, flags, their values and files in a shell. The script calls foliot for the completions, so it
stays valid after an update of foliot.

Examples:

    foliot completion bash > /etc/bash_completion.d/foliot
    source <(foliot completion bash)                          (in ~/.bashrc)
    foliot completion zsh > "${fpath[1]}/_foliot"
    foliot completion fish > ~/.config/fish/completions/foliot.fish`
}

func (s *Script) Run(con *console.Console) error {
	script, err := scripts.ReadFile("scripts/foliot." + s.Shell)
	if err == nil {
		_, _ = con.Out.Write(script) // an error means that the reader is gone
	}
	return err
}

// Command is called by the scripts. Its arguments are the words of a command
// line up to the cursor. It prints the possible completions, one per line.
type Command struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words after foliot, up to the cursor."`
}

// Run prints the kind of the completions, and then each word with a tab and its
// meaning.
func (c *Command) Run(con *console.Console, parsed *kong.Context) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	kind, list := Of(parsed.Model.Node, words)
	con.Linef("%s", kind)
	for _, w := range list {
		con.Linef("%s\t%s", w.Text, wording.Printable(w.Meaning))
	}
	return nil
}

// kind is where a shell finds the completions.
type kind string

const (
	ofWords       kind = "words" // in the lines that follow
	ofFiles       kind = "files"
	ofDirectories kind = "directories"
)

// candidate is a possible completion.
type candidate struct{ Text, Meaning string }

// Of returns the completions of the last word, which may be incomplete. No
// words mean the same as one empty word.
func Of(root *kong.Node, words []string) (kind, []candidate) {
	last := ""
	if n := len(words); n > 0 {
		words, last = words[:n-1], words[n-1]
	}
	line := readLine(root, words)
	if line.open != nil {
		return valuesOf(line.open, "", last)
	}
	if name, value, given := strings.Cut(last, "="); given && strings.HasPrefix(name, "--") && !line.ended {
		if f := line.flag(named(strings.TrimPrefix(name, "--"))); f != nil {
			return valuesOf(f.Value, name+"=", value)
		}
		return ofWords, nil
	}
	switch {
	case strings.HasPrefix(last, "-") && !line.ended:
		return ofWords, matching(last, line.flags())
	case !line.node.Leaf():
		return ofWords, matching(last, commands(line.node))
	case line.arguments < len(line.node.Positional):
		return valuesOf(line.node.Positional[line.arguments], "", last)
	case len(line.node.Positional) > 0 && line.node.Positional[len(line.node.Positional)-1].IsCumulative():
		return valuesOf(line.node.Positional[len(line.node.Positional)-1], "", last)
	}
	return ofWords, nil
}

// valuesOf returns the possible values of a flag or an argument. Each candidate
// begins with before, the part of the word in front of the value.
func valuesOf(v *kong.Value, before, typed string) (kind, []candidate) {
	place := v.Name
	if v.Flag != nil {
		place = v.Flag.PlaceHolder
	}
	var words []string
	switch {
	case v.Enum != "":
		words = v.EnumSlice()
	case strings.Contains(place, "|"): // a list of values that the server checks
		words = strings.Split(place, "|")
	case strings.EqualFold(place, "FILE"):
		return ofFiles, nil
	case strings.EqualFold(place, "DIR"):
		return ofDirectories, nil
	}
	var list []candidate
	for _, word := range words {
		list = append(list, candidate{before + word, ""})
	}
	return ofWords, matching(before+typed, list)
}

func matching(typed string, list []candidate) []candidate {
	var fit []candidate
	for _, c := range list {
		if strings.HasPrefix(c.Text, typed) {
			fit = append(fit, c)
		}
	}
	return fit
}

// commandLine is the meaning of the words before the cursor.
type commandLine struct {
	node      *kong.Node
	arguments int         // number of arguments of node that are given
	open      *kong.Value // the next word is the value of this flag; nil if it is not
	ended     bool        // "--" was given: no flags follow
}

func readLine(root *kong.Node, words []string) commandLine {
	line := commandLine{node: root}
	for _, w := range words {
		switch {
		case line.open != nil:
			line.open = nil
		case w == "--" && !line.ended:
			line.ended = true
		case strings.HasPrefix(w, "-") && w != "-" && !line.ended:
			line.readFlag(w)
		default:
			line.readWord(w)
		}
	}
	return line
}

func (l *commandLine) readFlag(word string) {
	name, isLong := strings.CutPrefix(word, "--")
	if isLong && strings.Contains(name, "=") {
		return
	}
	is := named(name)
	if !isLong { // in -qo json, only the last letter can take a value
		is = func(f *kong.Flag) bool { return f.Short == rune(word[len(word)-1]) }
	}
	if f := l.flag(is); f != nil && !f.IsBool() && !f.IsCounter() {
		l.open = f.Value
	}
}

func (l *commandLine) readWord(word string) {
	for _, c := range l.node.Children {
		if c.Name == word || slices.Contains(c.Aliases, word) {
			l.node, l.arguments = c, 0
			return
		}
	}
	l.arguments++
}

func (l *commandLine) all() []*kong.Flag { return slices.Concat(l.node.AllFlags(true)...) }

func (l *commandLine) flag(is func(*kong.Flag) bool) *kong.Flag {
	all := l.all()
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

func named(name string) func(*kong.Flag) bool {
	return func(f *kong.Flag) bool { return f.Name == name || slices.Contains(f.Aliases, name) }
}

func (l *commandLine) flags() []candidate {
	var list []candidate
	for _, f := range l.all() {
		list = append(list, candidate{"--" + f.Name, f.Help})
		if f.Tag.Negatable != "" {
			list = append(list, candidate{"--no-" + f.Name, "Not: " + f.Help})
		}
	}
	return list
}

func commands(node *kong.Node) []candidate {
	var list []candidate
	for _, c := range node.Children {
		if !c.Hidden {
			list = append(list, candidate{c.Name, c.Help})
		}
	}
	return list
}
