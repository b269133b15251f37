package cli

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
)

func TestTheManualPageIsValidRoff(t *testing.T) {
	if _, errs, code := newSession(t).runBare("man"); code != exit.OK || errs != "" {
		t.Fatal(errs)
	}
	page, err := manPage(quietParser(new(cli)), "1.2.3", "November 27, 2026") // a test binary has no date
	fatal.If(t, err)
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
	parser := quietParser(new(cli))
	root, global := parser.Model.Node, parser.Model.Flags
	page, err := manPage(parser, "dev", "")
	fatal.If(t, err)
	page = strings.ReplaceAll(page, `\-`, "-")
	each(global, func(f *kong.Flag) {
		if strings.Count(page, "  --"+f.Name)+strings.Count(page, ", --"+f.Name) < 1 {
			t.Errorf("--%s is missing", f.Name)
		}
	})
	for _, leaf := range root.Leaves(true) {
		shows(t, page, `.SS "`+nameOf(leaf)+`"`)
		each(leaf.Flags, func(f *kong.Flag) {
			if !strings.Contains(page, "--"+f.Name) && f.Tag.Negatable == "" && !f.Hidden {
				t.Errorf("%s: --%s is missing", nameOf(leaf), f.Name)
			}
		})
	}
}

func each(flags []*kong.Flag, f func(*kong.Flag)) {
	for _, flag := range flags {
		f(flag)
	}
}

func TestTextsAreEscapedForRoff(t *testing.T) {
	const text, want = "a\n.TH is no request\n'nor this\n    -a \\ `b` …\n", "a\n\\&.TH is no request\n\\(aqnor this\n    \\-a \\e \\(gab\\(ga \\[u2026]\n"
	if got := roff(text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
