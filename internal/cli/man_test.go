package cli

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/exit"
)

func TestTheManualPageIsValidRoff(t *testing.T) {
	if _, errs, code := newSession(t).runBare("man"); code != exit.OK || errs != "" {
		t.Fatal(errs)
	}
	page := manPage(quietParser(new(cli)).Model.Node, "1.2.3", "November 27, 2026") // a test binary has no date
	checked := false
	for _, check := range [][]string{{"groff", "-man", "-ww", "-Tutf8", "-z"}, {"mandoc", "-T", "lint", "-W", "warning"}} {
		if _, err := exec.LookPath(check[0]); err != nil {
			continue
		}
		checked = true
		cmd := exec.CommandContext(t.Context(), check[0], check[1:]...)
		cmd.Stdin = strings.NewReader(page)
		if output, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(output)) > 0 {
			t.Errorf("%v: %v\n%s", check, err, output)
		}
	}
	if !checked {
		t.Skip("there is neither groff nor mandoc")
	}
}

func TestTheManualPageHasEveryCommandAndFlag(t *testing.T) {
	root := quietParser(new(cli)).Model.Node
	page := strings.ReplaceAll(manPage(root, "dev", ""), `\-`, "-")
	for _, leaf := range root.Leaves(true) {
		if !strings.Contains(page, `.SS "`+nameOf(leaf)) {
			t.Errorf("%s is missing", nameOf(leaf))
		}
		each(leaf.Flags, func(f *kong.Flag) {
			if !strings.Contains(page, "--"+f.Name) && f.Tag.Negatable == "" && !f.Hidden {
				t.Errorf("%s: --%s is missing", nameOf(leaf), f.Name)
			}
		})
	}
	if strings.Index(page, ".SH \"FLAGS OF EVERY COMMAND") < strings.LastIndex(page, ".SS") {
		t.Error("the flags of every command come before a command")
	}
	_, codes, _ := strings.Cut(page, `.SH "EXIT STATUS"`)
	if got := regexp.MustCompile(`\\fB(.*)\\fR`).FindAllStringSubmatch(codes, -1); len(got) != 11 || got[10][1] != "130" {
		t.Errorf("the exit codes are %q", got)
	}
}

func each(flags []*kong.Flag, f func(*kong.Flag)) {
	for _, flag := range flags {
		f(flag)
	}
}

func TestTextsAreEscapedForRoff(t *testing.T) {
	p := &roff{}
	p.prose(".TH is no request\n'nor this\n\n    -a \\ `b` …\nend")
	want := "\\&.TH is no request\n\\(aqnor this\n.PP\n.EX\n    \\-a \\e \\(gab\\(ga \\[u2026]\n.EE\nend\n"
	if p.String() != want {
		t.Errorf("got\n%s\nwant\n%s", p, want)
	}
}
