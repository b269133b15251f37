package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/usage"
)

// Origin is the source of a flag's value.
type Origin struct {
	Kind string // "flag", "environment", "file", "default"
	Name string // of the variable, or the file and its line
}

// String returns the origin as text for people.
func (o Origin) String() string { return strings.TrimSpace(o.Kind + " " + o.Name) }

// Origins finds the sources of the selected command's flags.
type Origins struct {
	parsed *kong.Context
	file   *Values
}

// OriginsOf returns the origins for a parsed command line and its file.
func OriginsOf(parsed *kong.Context, file *Values) Origins { return Origins{parsed, file} }

// Of returns the source of a flag's value.
func (o Origins) Of(flag *kong.Flag) Origin {
	onLine := func(p *kong.Path) bool { return p.Flag == flag && !p.Resolved }
	if slices.ContainsFunc(o.parsed.Path, onLine) {
		return Origin{Kind: "flag"}
	}
	if name := VariableOf(flag); name != "" {
		return Origin{"environment", name}
	}
	if v, ok := o.file.Keys[flag.Name]; ok {
		return Origin{"file", fmt.Sprintf("%s:%d", o.file.path, v.line)}
	}
	return Origin{Kind: "default"}
}

// Named returns the source of the selected command's flag of that name.
func (o Origins) Named(name string) Origin {
	for _, flag := range o.parsed.Selected().Flags {
		if flag.Name == name {
			return o.Of(flag)
		}
	}
	return Origin{Kind: "default"}
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
