package cli

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
)

type manCmd struct{}

func (manCmd) Help() string {
	return `Prints the manual page of all commands, for man(1): the help of each.

Examples:

    foliot man > /usr/local/share/man/man1/foliot.1
    foliot man | man -l -`
}

func (manCmd) Run(con *console.Console, parsed *kong.Context) error {
	page, err := manPage(parsed.Kong, buildinfo.Version(), buildinfo.Date())
	if err == nil {
		_, _ = io.WriteString(con.Out, page) // an error means that the pager is gone
	}
	return err
}

// manPage returns the manual page: the help of foliot and of each command, in
// the man macros of roff. It changes the parser.
func manPage(parser *kong.Kong, version, date string) (string, error) {
	root := parser.Model.Node
	leaves := root.Leaves(true)
	for _, leaf := range leaves { // before the help removes them
		leaf.Detail = strings.TrimSpace(leaf.Detail + "\n\n" + otherNames(leaf))
	}
	var help bytes.Buffer
	parser.Stdout = &help
	var page strings.Builder
	fmt.Fprintf(&page, ".TH FOLIOT 1 %q %q\n.SH NAME\nfoliot \\- call a URL at a time\n", date, "foliot "+version)
	section := func(macro, heading, text string) {
		fmt.Fprintf(&page, ".%s %q\n.nf\n%s.fi\n", macro, heading, roff(strings.Trim(text, "\n")+"\n"))
	}
	for i, command := range append([]*kong.Node{root}, leaves...) {
		words := strings.Fields(nameOf(command))[1:]
		ctx, err := kong.Trace(parser, words)
		if err == nil {
			help.Reset()
			err = ctx.PrintUsage(false)
		}
		if err != nil {
			return "", err
		}
		if i > 0 {
			section("SS", nameOf(command), help.String())
			continue
		}
		section("SH", "SYNOPSIS", help.String())
		page.WriteString(".SH COMMANDS\n")
		root.Flags = nil // the page has the flags of every command once
	}
	_, codes, _ := strings.Cut(exit.CodesHelp, "\n")
	section("SH", "EXIT STATUS", codes)
	return page.String(), nil
}

// outsideASCII matches characters that roff does not read.
var outsideASCII = regexp.MustCompile(`[^\x00-\x7f]`)

// roff escapes lines for roff. Otherwise a plain - would become a hyphen, which a
// shell does not accept when pasted.
func roff(lines string) string {
	lines = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, "\n.", "\n"+`\&.`).Replace(lines)
	return outsideASCII.ReplaceAllStringFunc(lines, func(s string) string { return fmt.Sprintf(`\[u%04X]`, []rune(s)[0]) })
}
