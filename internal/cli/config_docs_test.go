package cli

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/server/config"
)

const configDocs = "../../docs/configuration.md"

// The tables of docs/configuration.md are generated from the model of the
// command line, so that they are always correct.
func TestTheDocsHaveEverySetting(t *testing.T) {
	before, err := os.ReadFile(configDocs)
	fatal.If(t, err)
	root := theModel().Node
	serve := commandOfName(root, "serve")
	after := between(t, before, "settings", settingsTable(withoutHelp(serve.Flags)))
	after = between(t, after, "client", settingsTable(withVariable(root.Flags)))
	if os.Getenv("UPDATE_GOLDEN") != "" {
		fatal.If(t, os.WriteFile(configDocs, after, 0o600))
		return
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("%s (-is +should be); `make golden PKG=./internal/cli RUN=%s` writes it:\n%s", configDocs, t.Name(), diff)
	}
}

// between returns text with the table between two marks replaced.
func between(t *testing.T, text []byte, mark, table string) []byte {
	t.Helper()
	marks := regexp.MustCompile(`(?s)(<!-- ` + mark + `: begin[^\n]*-->\n).*(<!-- ` + mark + `: end -->)`)
	if !marks.Match(text) {
		t.Fatalf("%s has no marks for %s", configDocs, mark)
	}
	return marks.ReplaceAllFunc(text, func(found []byte) []byte {
		ends := marks.FindSubmatch(found)
		return slices.Concat(ends[1], []byte(table), ends[2])
	})
}

func settingsTable(flags []*kong.Flag) string {
	var b bytes.Buffer
	group := "none"
	for _, f := range flags {
		if title := titleOf(f); title != group {
			group = title
			if title != "" {
				fmt.Fprintf(&b, "\n### %s\n", strings.TrimSuffix(title, ":"))
			}
			b.WriteString("\n| flag | default | meaning |\n|---|---|---|\n")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", flagForm(f), defaultForm(f), cell(f.Help))
	}
	return b.String() + "\n"
}

// withVariable returns the flags that a variable can set.
func withVariable(flags []*kong.Flag) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f *kong.Flag) bool { return len(f.Tag.Envs) == 0 })
}

func titleOf(f *kong.Flag) string {
	if f.Group.Key == globalFlags.Key { // the page has a heading of its own
		return ""
	}
	return f.Group.Title
}

func flagForm(f *kong.Flag) string {
	switch {
	case f.Tag.Negatable != "":
		return "--[no-]" + f.Name
	case f.IsBool():
		return "--" + f.Name
	}
	return "--" + f.Name + " " + cell(f.FormatPlaceHolder())
}

func defaultForm(f *kong.Flag) string {
	if !f.HasDefault {
		return ""
	}
	return "`" + f.Default + "`"
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func TestEverySettingHasAVariableAndHelp(t *testing.T) {
	for _, name := range []string{"serve", "config"} {
		for _, f := range config.FileFlags(commandOfName(theModel().Node, name)) {
			want := "FOLIOT_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			if !slices.Equal(f.Tag.Envs, []string{want}) || f.Help == "" || !strings.HasSuffix(f.Help, ".") || strings.Contains(f.Help, "(default") {
				t.Errorf("%s --%s has the variables %q and the help %q", name, f.Name, f.Tag.Envs, f.Help)
			}
			if f.Group == nil {
				t.Errorf("%s --%s belongs to no group", name, f.Name)
			}
		}
	}
}

func withoutHelp(flags []*kong.Flag) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f *kong.Flag) bool { return f.Name == "help" })
}
