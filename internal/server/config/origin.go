package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/usage"
)

// Origin is where a flag's value comes from.
type Origin struct {
	Kind string // "flag", "environment", "file", "default"
	Name string // of the variable, or the file and its line
}

// String returns the origin as people read it.
func (o Origin) String() string { return strings.TrimSpace(o.Kind + " " + o.Name) }

// Origins tells where the values of the selected command's flags come from.
type Origins struct {
	parsed *kong.Context
	file   *Values
}

// OriginsOf returns the origins for a parsed command line and its file.
func OriginsOf(parsed *kong.Context, file *Values) Origins { return Origins{parsed, file} }

// Of returns where the value of a flag comes from.
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

// Locate adds to what is wrong with a flag where its value stands, if that is
// not the command line: what nobody typed is hard to find.
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
