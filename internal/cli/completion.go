package cli

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/wording"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help shows examples below the usage line.
func (completionCmd) Help() string {
	return `Prints a script that completes commands, flags, their values and files in a shell. The script calls foliot for the completions,
so it stays valid after an update of foliot.

Examples:

    foliot completion bash > /etc/bash_completion.d/foliot
    source <(foliot completion bash)                          (in ~/.bashrc)
    foliot completion zsh > "${fpath[1]}/_foliot"
    foliot completion fish > ~/.config/fish/completions/foliot.fish`
}

// Run prints the script.
func (c *completionCmd) Run(con *console.Console) error {
	_, _ = io.WriteString(con.Out, completionScripts[c.Shell]) // an error means that the reader is gone
	return nil
}

// completeCmd is called by the scripts. Its arguments are the words of a command
// line up to the cursor. It prints the possible completions, one per line.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words after foliot, up to the cursor."`
}

// Run prints the kind of the completions, and then each word with a tab and its
// meaning.
func (c *completeCmd) Run(con *console.Console, parsed *kong.Context) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	kind, list := complete(parsed.Model.Node, words)
	con.Linef("%s", kind)
	for _, w := range list {
		con.Linef("%s\t%s", w.text, wording.Printable(w.meaning))
	}
	return nil
}

// completionKind is where a shell finds the completions.
type completionKind string

const (
	ofWords       completionKind = "words" // in the lines that follow
	ofFiles       completionKind = "files"
	ofDirectories completionKind = "directories"
)

// candidate is a possible completion.
type candidate struct{ text, meaning string }

// complete returns the completions of the last word, which may be incomplete. No
// words mean the same as one empty word.
func complete(root *kong.Node, words []string) (completionKind, []candidate) {
	last := ""
	if n := len(words); n > 0 {
		words, last = words[:n-1], words[n-1]
	}
	line := readLine(root, words)
	if line.open != nil {
		return valuesOf(line.open, "", last)
	}
	if name, value, given := strings.Cut(last, "="); given && strings.HasPrefix(name, "--") && !line.ended {
		if f := line.flag(strings.TrimPrefix(name, "--")); f != nil {
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
		if c.Name == word {
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
		if f.Name == name {
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

func (l *commandLine) flags() []candidate {
	var list []candidate
	l.each(func(f *kong.Flag) {
		list = append(list, candidate{"--" + f.Name, f.Help})
		if f.Tag.Negatable != "" {
			list = append(list, candidate{"--no-" + f.Name, "Not: " + f.Help})
		}
	})
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

// valuesOf returns the possible values of a flag or an argument. Each candidate
// begins with before, the part of the word in front of the value.
func valuesOf(v *kong.Value, before, typed string) (completionKind, []candidate) {
	if v.Enum != "" {
		var list []candidate
		for _, word := range v.EnumSlice() {
			list = append(list, candidate{before + word, ""})
		}
		return ofWords, matching(before+typed, list)
	}
	place := v.Name
	if v.Flag != nil {
		place = v.Flag.PlaceHolder
	}
	if strings.Contains(place, "|") { // a list of values that the server checks
		var list []candidate
		for word := range strings.SplitSeq(place, "|") {
			list = append(list, candidate{before + word, ""})
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

func matching(typed string, list []candidate) []candidate {
	var fit []candidate
	for _, c := range list {
		if strings.HasPrefix(c.text, typed) {
			fit = append(fit, c)
		}
	}
	return fit
}

// completionScripts call `foliot complete` for the completions. bash splits words
// at = and :. Its script joins them for the call, and removes the joined part
// from the completions.
var completionScripts = map[string]string{
	"bash": `# bash completion of foliot, printed by: foliot completion bash
_foliot() {
	local cur=${COMP_WORDS[COMP_CWORD]} word whole line kind='' glue=''
	local -a words=()
	for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
		if [[ ${#words[@]} -gt 0 && $word =~ ^[=:]+$ ]]; then
			words[${#words[@]}-1]+=$word glue=1
		elif [[ $glue ]]; then
			words[${#words[@]}-1]+=$word glue=''
		else
			words+=("$word")
		fi
	done
	[[ $cur =~ ^[=:]+$ ]] && cur=''
	whole=${words[${#words[@]}-1]}
	COMPREPLY=()
	while IFS= read -r line; do
		if [[ ! $kind ]]; then
			kind=$line
		else
			line=${line%%$'\t'*}
			COMPREPLY+=("${line#"${whole%"$cur"}"}")
		fi
	done < <("${COMP_WORDS[0]}" complete -- "${words[@]}" 2>/dev/null)
	case $kind in
	files | directories)
		compopt -o filenames 2>/dev/null
		local option=-f
		[[ $kind == directories ]] && option=-d
		while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen $option -- "$cur")
		;;
	esac
}
complete -F _foliot foliot
`,
	"zsh": `#compdef foliot
# zsh completion of foliot, printed by: foliot completion zsh
_foliot() {
	local -a lines described
	local line kind
	lines=("${(@f)$("${words[1]}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
	kind=$lines[1]
	case $kind in
	files)
		compset -P '--*='
		_files
		;;
	directories)
		compset -P '--*='
		_files -/
		;;
	words)
		for line in "${(@)lines[2,-1]}"; do
			described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
		done
		_describe -V foliot described
		;;
	esac
}
if [[ $funcstack[1] == _foliot ]]; then
	_foliot "$@"
else
	compdef _foliot foliot
fi
`,
	"fish": `# fish completion of foliot, printed by: foliot completion fish
function __foliot_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines ($words[1] complete -- $words[2..-1] 2>/dev/null)
    set -l before (string match -r -- '^--[^=]+=' $words[-1])
    set -l typed (string replace -r -- '^--[^=]+=' '' $words[-1])
    switch "$lines[1]"
        case files
            for path in (__fish_complete_path $typed)
                echo "$before$path"
            end
        case directories
            for path in (__fish_complete_directories $typed)
                echo "$before$path"
            end
        case words
            printf '%s\n' $lines[2..-1]
    end
end
complete -c foliot -f -k -a '(__foliot_complete)'
`,
}
