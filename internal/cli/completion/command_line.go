package completion

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// commandLine is the meaning of the words before the cursor.
type commandLine struct {
	node      *kong.Node
	arguments int         // number of arguments of node that are given
	open      *kong.Value // the next word is the value of this flag; nil if it is not
	ended     bool        // "--" was given: no flags follow

	values map[string]string // of flags, by name
}

func readLine(root *kong.Node, words []string) commandLine {
	line := commandLine{node: root, values: map[string]string{}}
	for _, w := range words {
		switch {
		case line.open != nil:
			line.values[line.open.Name] = w
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
	if name, value, given := strings.Cut(name, "="); isLong && given {
		l.values[name] = value
		return
	}
	var f *kong.Flag
	if isLong {
		f = l.flag(name)
	} else { // in -qo json, only the last letter can take a value
		f = l.short(rune(word[len(word)-1]))
	}
	if f != nil && !f.IsBool() && !f.IsCounter() {
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

// each calls f for the flags of the command and of its parents.
func (l *commandLine) each(f func(*kong.Flag)) {
	for _, group := range l.node.AllFlags(true) {
		for _, flag := range group {
			f(flag)
		}
	}
}

// flag returns the flag with that long name, or nil.
func (l *commandLine) flag(name string) (found *kong.Flag) {
	l.each(func(f *kong.Flag) {
		if f.Name == name || slices.Contains(f.Aliases, name) {
			found = f
		}
	})
	return found
}

func (l *commandLine) short(letter rune) (found *kong.Flag) {
	l.each(func(f *kong.Flag) {
		if f.Short == letter {
			found = f
		}
	})
	return found
}

func (l *commandLine) flags() []Candidate {
	var list []Candidate
	l.each(func(f *kong.Flag) {
		list = append(list, Candidate{"--" + f.Name, f.Help})
		if f.Tag.Negatable != "" {
			list = append(list, Candidate{"--no-" + f.Name, "Not: " + f.Help})
		}
	})
	return list
}

func commands(node *kong.Node) []Candidate {
	var list []Candidate
	for _, c := range node.Children {
		if !c.Hidden {
			list = append(list, Candidate{c.Name, c.Help})
		}
	}
	return list
}
