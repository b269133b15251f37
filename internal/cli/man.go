package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
)

type manCmd struct{}

// Help shows examples below the usage line.
func (manCmd) Help() string {
	return `Prints the manual page of all commands, for man(1).

Examples:

    foliot man > /usr/local/share/man/man1/foliot.1
    foliot man | man -l -`
}

// Run prints the page.
func (manCmd) Run(con *console.Console, parsed *kong.Context) error {
	_, _ = io.WriteString(con.Out, manPage(parsed.Model.Node, buildinfo.Version(), buildinfo.Date())) // an error means that the pager is gone
	return nil
}

// manPage returns the manual page of the model, in the man macros of roff.
func manPage(root *kong.Node, version, date string) string {
	p := &roff{}
	p.macro("TH", "FOLIOT", "1", date, "foliot "+version, "User Commands")
	p.macro("SH", "NAME")
	p.text("foliot - call a URL at a time")
	p.macro("SH", "SYNOPSIS")
	p.text("foliot COMMAND [ARGUMENT...] [FLAG...]")
	p.macro("SH", "DESCRIPTION")
	about, _, _ := strings.Cut(description, exit.CodesSummary)
	p.prose(strings.ReplaceAll(about, "\n  ", "\n    "))
	p.macro("SH", "COMMANDS")
	p.commands(root)
	p.macro("SH", "FLAGS OF EVERY COMMAND")
	p.flags(root.Flags)
	p.macro("PP")
	p.text("If the server answers 503, for example while its store is unavailable, a command retries for at most four seconds.")
	p.macro("SH", "ENVIRONMENT")
	p.prose("If a flag names a variable and is not on the command line, its value comes from that variable. " +
		"foliot serve and foliot config also read a file: see their flag --config, and foliot config --example.")
	p.macro("SH", "EXIT STATUS")
	_, codes, _ := strings.Cut(exit.CodesHelp, "\n")
	for line := range strings.Lines(codes) {
		if strings.HasPrefix(line, "   ") { // it continues the meaning of the line before
			p.text(strings.TrimSpace(line))
			continue
		}
		code, meaning, _ := strings.Cut(strings.TrimSpace(line), " ")
		p.item(code, strings.TrimSpace(meaning))
	}
	return p.String()
}

// roff writes lines of roff.
type roff struct{ strings.Builder }

// macro writes a request with its arguments.
func (p *roff) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, a := range args {
		p.WriteString(` "` + strings.ReplaceAll(escapeRoff(a), `"`, `\(dq`) + `"`)
	}
	p.WriteByte('\n')
}

// text writes a line of text.
func (p *roff) text(s string) {
	if s = escapeRoff(s); s != "" && strings.ContainsRune(".'", rune(s[0])) {
		s = `\&` + s
	}
	p.WriteString(s + "\n")
}

// prose writes paragraphs. It keeps lines that are indented by four spaces.
func (p *roff) prose(s string) {
	asIs := false
	for line := range strings.Lines(strings.Trim(s, "\n")) {
		line = strings.TrimSuffix(line, "\n")
		code, indented := strings.CutPrefix(line, "    ")
		if indented != asIs && line != "" {
			asIs = indented
			p.macro(map[bool]string{true: "EX", false: "EE"}[asIs])
		}
		switch {
		case indented:
			p.text("    " + code)
		case line == "":
			p.macro("PP")
		default:
			p.text(line)
		}
	}
	if asIs {
		p.macro("EE")
	}
}

// item writes a term and its meaning.
func (p *roff) item(term, meaning string) {
	p.macro("TP")
	p.WriteString(`\fB` + escapeRoff(term) + "\\fR\n")
	p.text(meaning)
}

func (p *roff) flags(flags []*kong.Flag) {
	for _, f := range flags {
		if !f.Hidden {
			p.item(f.String(), helpOf(f.Value))
		}
	}
}

// commands writes the commands below a node with their arguments and flags.
func (p *roff) commands(node *kong.Node) {
	for _, c := range node.Children {
		switch {
		case c.Hidden:
		case c.Leaf():
			p.command(c)
		default:
			p.commands(c)
		}
	}
}

func (p *roff) command(c *kong.Node) {
	p.macro("SS", nameOf(c)+strings.TrimPrefix(c.Summary(), c.Path()))
	p.text(c.Help)
	if c.Detail != "" {
		p.macro("PP")
		p.prose(c.Detail)
	}
	if names := otherNames(c); names != "" {
		p.macro("PP")
		p.text(names)
	}
	for _, a := range c.Positional {
		p.item(a.Summary(), helpOf(a))
	}
	p.flags(withoutHelp(c.Flags))
}

func withoutHelp(flags []*kong.Flag) (rest []*kong.Flag) {
	for _, f := range flags {
		if f.Name != "help" {
			rest = append(rest, f)
		}
	}
	return rest
}

// escapeRoff escapes s for roff. Otherwise a plain - would become a hyphen,
// which a shell does not accept when pasted. roff reads only ASCII.
func escapeRoff(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch name, special := roffNames[r]; {
		case special:
			b.WriteString(name)
		case r > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

var roffNames = map[rune]string{
	'\\': `\e`, '-': `\-`, '`': `\(ga`, '\'': `\(aq`, '^': `\(ha`, '~': `\(ti`,
}
