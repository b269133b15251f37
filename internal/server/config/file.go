package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/usage"
)

// fileFlag is the flag that names a configuration file.
type fileFlag string

// MaxFile bounds the bytes of a configuration file, and no configuration needs
// as many.
const MaxFile = 1 << 20

// BeforeResolve reads the file. kong calls it for the flag on the command line
// and for its variable, for each command with such a flag.
func (fileFlag) BeforeResolve(ctx *kong.Context, trace *kong.Path, values *Values) error {
	command := ctx.Selected()
	if command == nil || !slices.Contains(command.Flags, trace.Flag) {
		return nil
	}
	path := string(ctx.FlagValue(trace.Flag).(fileFlag))
	if path == "" {
		return nil
	}
	data, info, err := fileaccess.ReadUpTo(path, fileaccess.Unaltered, MaxFile)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	read, err := Parse(path, data, FileFlags(command))
	if err != nil {
		return err // names the file itself
	}
	if err := read.CheckSecrets(info); err != nil {
		return usage.Errorf("--config", "%v", err)
	}
	*values = read
	ctx.AddResolver(values)
	return nil
}

// CheckSecrets returns an error if other users may read the file and a value in
// it may hold a password.
func (v *Values) CheckSecrets(info fs.FileInfo) error {
	for _, key := range slices.Sorted(maps.Keys(v.Keys)) {
		if s, ok := v.Keys[key].Value.(string); ok && MayHoldPassword(s) {
			if err := fileaccess.SecretFile.Check(v.path, info); err != nil {
				return fmt.Errorf("%s may hold a password, and %w", key, err)
			}
		}
	}
	return nil
}

// FileFlags returns the flags of a command that a file may set, by name.
func FileFlags(command *kong.Node) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(command.Flags), func(f *kong.Flag) bool {
		return f.Hidden || f.Name == "help" || f.Tag.Get("file") == "-"
	})
}

// Values holds the values of a configuration file, which kong asks for the
// flags that are not on the command line. The zero value is an empty file.
type Values struct {
	path string
	Keys map[string]setting
}

// setting is the value of a key, and the line of the key.
type setting struct {
	line  int
	Value any // a string, or []any of strings for a list, as kong expects
}

// Validate implements kong.Resolver, and does nothing, because Parse has
// already checked the values.
func (v *Values) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver. A variable takes precedence over the file,
// where kong itself would prefer the file.
func (v *Values) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if VariableOf(flag) != "" {
		return nil, nil
	}
	return v.Keys[flag.Name].Value, nil
}

// VariableOf returns the name of the variable that sets flag, or "".
func VariableOf(flag *kong.Flag) string {
	for _, name := range flag.Tag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return name
		}
	}
	return ""
}

// Parse parses a configuration: one mapping from the names of flags to their
// values. Errors name the file and the line.
func Parse(path string, data []byte, flags []*kong.Flag) (Values, error) {
	values := Values{path: path, Keys: map[string]setting{}}
	root, err := parseDocument(data)
	if err != nil {
		return values, fmt.Errorf("%s: %w", path, err)
	}
	if root == nil {
		return values, nil
	}
	at := func(n *yaml.Node, format string, args ...any) error {
		return fmt.Errorf("%s:%d: %w", path, n.Line, fmt.Errorf(format, args...))
	}
	if root.Kind != yaml.MappingNode {
		return values, at(root, "a configuration is a list of lines such as `listen: 127.0.0.1:8750`")
	}
	for i := 0; i < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		flag := findFlag(flags, key)
		if flag == nil {
			return values, at(key, "%s", unknownKey(key, flags))
		}
		if before, twice := values.Keys[flag.Name]; twice {
			return values, at(key, "%s is already set in line %d", flag.Name, before.line)
		}
		value, err := readValue(flag, node)
		if err != nil {
			return values, at(node, "%s: %w", flag.Name, err)
		}
		values.Keys[flag.Name] = setting{line: key.Line, Value: value}
	}
	return values, nil
}

// parseDocument returns the content of the only document, or nil for an empty
// file.
func parseDocument(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, plainYAML(err)
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, plainYAML(err)
		}
		return nil, fmt.Errorf("line %d: a second document begins, but a configuration has only one", second.Line)
	}
	if root := doc.Content[0]; root.Kind != yaml.ScalarNode || root.Tag != "!!null" {
		return root, nil
	}
	return nil, nil
}

// plainYAML removes the library's name from its error.
func plainYAML(err error) error { return errors.New(strings.TrimPrefix(err.Error(), "yaml: ")) }

func findFlag(flags []*kong.Flag, key *yaml.Node) *kong.Flag {
	if key.Kind != yaml.ScalarNode {
		return nil
	}
	i := slices.IndexFunc(flags, func(f *kong.Flag) bool { return f.Name == key.Value })
	if i < 0 {
		return nil
	}
	return flags[i]
}

// unknownKey returns the message for an unknown key, which suggests a similar
// key if there is one.
func unknownKey(key *yaml.Node, flags []*kong.Flag) string {
	said := fmt.Sprintf("unknown key %q", key.Value)
	meant := strings.ReplaceAll(strings.ToLower(strings.TrimLeft(key.Value, "-")), "_", "-")
	for _, f := range flags {
		if f.Name == meant {
			return said + fmt.Sprintf("; did you mean %q?", f.Name)
		}
	}
	names := make([]string, len(flags))
	for i, f := range flags {
		names[i] = f.Name
	}
	return said + usage.DidYouMean(key.Value, names) + "; `foliot config --example` prints all keys"
}

// readValue returns the value of node, in the form that kong expects, after a
// trial run of kong's decoder for flag.
func readValue(flag *kong.Flag, node *yaml.Node) (any, error) {
	value, err := plainValue(flag, node)
	if err != nil {
		return nil, err
	}
	target := reflect.New(flag.Target.Type()).Elem()
	scan := kong.Scan().PushTyped(value, kong.FlagValueToken)
	if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, target); err != nil {
		return nil, err
	}
	if flag.Enum != "" && !flag.EnumMap()[fmt.Sprint(value)] {
		return nil, fmt.Errorf("%q is not one of %s", value, strings.Join(flag.EnumSlice(), ", "))
	}
	return value, nil
}

func plainValue(flag *kong.Flag, node *yaml.Node) (any, error) {
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		return nil, errors.New("the value is missing; delete the line to use the default")
	case node.Kind == yaml.ScalarNode:
		return node.Value, nil
	case node.Kind != yaml.SequenceNode:
		return nil, errors.New("the value must be a plain value or a list of plain values")
	case !flag.IsSlice():
		return nil, errors.New("the value must be a plain value, not a list")
	}
	list := make([]any, 0, len(node.Content))
	for _, item := range node.Content {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return nil, fmt.Errorf("line %d: an entry of the list is not a plain value", item.Line)
		}
		list = append(list, item.Value)
	}
	return list, nil
}

// MayHoldPassword reports whether a value is a URL that may hold a password.
func MayHoldPassword(s string) bool {
	return strings.Contains(s, "://") && strings.ContainsAny(s, "@?")
}
