package cli

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/server"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/timespan"
)

type configCmd struct {
	Example bool `file:"-" help:"Print an example file instead, with all settings and their meaning."`

	config.Flags
}

func (configCmd) Help() string {
	return `Prints the configuration that foliot serve would use with the same flags, variables and file. The output is a configuration file,
with the origin of each value. Values and files that foliot serve would refuse are errors here too, so use this command, as
the user of the server, to check a file before a restart. Values that contain a secret are not shown.

Examples:

    foliot config
    foliot config --config /etc/foliot.yaml
    (umask 077; foliot config --example > foliot.yaml)`
}

func (c *configCmd) Run(con *console.Console, parsed *kong.Context, file *config.Values) error {
	if c.Example {
		fmt.Fprint(con.Out, exampleConfig(config.FileFlags(parsed.Selected())))
		return nil
	}
	cfg, from, err := c.ResolveFrom(parsed, file)
	if err != nil {
		return err
	}
	if _, err := server.Check(cfg, slog.New(slog.DiscardHandler)); err != nil {
		return from.Locate(err)
	}
	if note := flags.UnusedData(from, cfg.Servers()); note != "" {
		con.Notef("%s", note)
	}
	if con.JSON {
		return con.Object(effective(config.FileFlags(parsed.Selected()), from))
	}
	text, err := effectiveYAML(config.FileFlags(parsed.Selected()), from)
	if err != nil {
		return err
	}
	fmt.Fprint(con.Out, text)
	return nil
}

// setting is a flag's value as -o json prints it.
type setting struct {
	Value  any    `json:"value,omitempty"`
	Origin string `json:"origin"`
	Name   string `json:"name,omitempty"`   // of the variable, or of the file with the line
	Secret bool   `json:"secret,omitempty"` // the value is set, but not shown
}

func effective(flags []*kong.Flag, from config.Origins) map[string]setting {
	all := make(map[string]setting, len(flags))
	for _, f := range flags {
		o := from.Of(f)
		s := setting{Origin: o.Kind, Name: o.Name, Value: plain(f.Target)}
		if holdsSecret(f) {
			s.Value, s.Secret = nil, true
		}
		all[f.Name] = s
	}
	return all
}

// effectiveYAML returns the values as a configuration file. Except for secrets,
// reading that file yields the same values.
func effectiveYAML(flags []*kong.Flag, from config.Origins) (string, error) {
	var b strings.Builder
	for _, f := range flags {
		o := from.Of(f)
		switch {
		case holdsSecret(f):
			fmt.Fprintf(&b, "# %s: set, not shown  # %s\n", f.Name, o)
		case isUnset(f):
			fmt.Fprintf(&b, "# %s: not set  # %s\n", f.Name, o)
		default:
			line, err := yamlLine(f.Name, plain(f.Target))
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "%s  # %s\n", line, o)
		}
	}
	return b.String(), nil
}

func isUnset(f *kong.Flag) bool {
	v := f.Target.Interface()
	return v == "" || v == config.ShardCount(0)
}

func yamlLine(key string, value any) (string, error) {
	node := new(yaml.Node)
	if err := node.Encode(value); err != nil {
		return "", fmt.Errorf("encode %s: %w", key, err)
	}
	if node.Kind == yaml.SequenceNode {
		node.Style = yaml.FlowStyle
	}
	for _, n := range append(node.Content, node) {
		if n.Kind == yaml.ScalarNode && strings.ContainsAny(n.Value, "\n\r") {
			n.Style = yaml.DoubleQuotedStyle // a block would take several lines
		}
	}
	text, err := yaml.Marshal(map[string]*yaml.Node{key: node})
	return strings.TrimSuffix(string(text), "\n"), err
}

func plain(v reflect.Value) any {
	if d, ok := v.Interface().(time.Duration); ok {
		return timespan.Text(d)
	}
	if v.Kind() == reflect.Slice && v.IsNil() {
		return []string{}
	}
	return v.Interface()
}

// holdsSecret reports whether the value of a flag must not be shown. That is a
// URL with credentials, or with a query, which may contain credentials.
func holdsSecret(f *kong.Flag) bool {
	s, ok := f.Target.Interface().(string)
	return ok && config.MayHoldPassword(s)
}

// exampleConfig returns a file that documents all settings and sets none.
func exampleConfig(flags []*kong.Flag) string {
	var b strings.Builder
	b.WriteString("# The configuration of `foliot serve --config FILE`. Each key is also a flag and a variable, which override\n" +
		"# the file. Keys that are not set have the default that is shown.\n")
	group := ""
	for _, f := range flags {
		if f.Group != nil && f.Group.Title != group {
			group = f.Group.Title
			fmt.Fprintf(&b, "\n### %s\n", strings.TrimSuffix(group, ":"))
		}
		b.WriteString("\n")
		for _, line := range wrap(f.Help, 100) {
			fmt.Fprintf(&b, "# %s\n", line)
		}
		fmt.Fprintf(&b, "# --%s, %s\n#%s: %s\n", f.Name, strings.Join(f.Tag.Envs, ", "), f.Name, exampleValue(f))
	}
	return b.String()
}

func exampleValue(f *kong.Flag) string {
	switch {
	case f.HasDefault:
		return f.Default
	case f.IsSlice():
		return "[]"
	case f.IsBool():
		return "false"
	}
	return f.PlaceHolder
}

// wrap breaks text into lines of at most width bytes, at spaces.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
