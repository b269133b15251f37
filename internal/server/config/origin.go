package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/usage"
)

// origin is the source of a flag's value.
type origin struct {
	Kind string // "flag", "environment", "file", "default"
	Name string // of the variable, or the file and its line
}

// String returns the origin as text for people.
func (o origin) String() string { return strings.TrimSpace(o.Kind + " " + o.Name) }

// Origins finds the sources of the selected command's flags.
type Origins struct {
	parsed *kong.Context
	file   *Values
}

// ResolveFrom is Resolve for a parsed command line and its file. Its error has the place of
// the value: see Origins.Locate.
func (f *Flags) ResolveFrom(parsed *kong.Context, file *Values) (Config, Origins, error) {
	from := Origins{parsed, file}
	cfg, err := f.Resolve()
	return cfg, from, from.Locate(err)
}

// Of returns the source of a flag's value.
func (o Origins) Of(flag *kong.Flag) origin {
	onLine := func(p *kong.Path) bool { return p.Flag == flag && !p.Resolved }
	if slices.ContainsFunc(o.parsed.Path, onLine) {
		return origin{Kind: "flag"}
	}
	if name := VariableOf(flag); name != "" {
		return origin{"environment", name}
	}
	if v, ok := o.file.Keys[flag.Name]; ok {
		return origin{"file", fmt.Sprintf("%s:%d", o.file.path, v.line)}
	}
	return origin{Kind: "default"}
}

// Named returns the source of the selected command's flag of that name.
func (o Origins) Named(name string) origin {
	for _, flag := range o.parsed.Selected().Flags {
		if flag.Name == name {
			return o.Of(flag)
		}
	}
	return origin{Kind: "default"}
}

// Locate adds the place of a flag's value to an error about this flag, unless
// the value is on the command line, because a value that the user did not type
// is hard to find.
func (o Origins) Locate(err error) error {
	var input *usage.Error
	if !errors.As(err, &input) {
		return err
	}
	for _, flag := range o.parsed.Selected().Flags {
		if "--"+flag.Name != input.Name {
			continue
		}
		if from := o.Of(flag); from.Name != "" {
			return usage.Errorf(input.Name, "%s (%s)", input.Reason, from)
		}
	}
	return err
}
