package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// excluded has the fields of the API that a file cannot set, and the reason.
var excluded = map[string]string{
	"managed_by": "foliot apply sets the owner: pass --owner",
	"anchor":     "this field only moves a schedule to another server with foliot import: set start",
	"runs":       "this field only moves a schedule to another server with foliot import: leave it out",
}

// keyFields identify an object.
var keyFields = []string{"kind", "name", "namespace"}

// decodeObject returns the object that a document describes, with its settings as
// JSON, or the errors of all its lines.
func decodeObject(file string, root *yaml.Node, namespace string) (Object, []error) {
	d := decoder{file: file, lines: map[string]int{"": root.Line}}
	if root.Kind != yaml.MappingNode {
		d.refuse(root, `a document must be an object with the fields kind and name, such as "kind: queue"`)
		return Object{}, d.errs
	}
	o := Object{Key: d.key(root, namespace), file: file, lines: d.lines}
	d.members(root, "")
	o.json = d.json.Bytes()
	return o, d.errs
}

// decoder converts YAML to the JSON of the API, and collects the errors of all
// lines. It refuses values that parsers of YAML read differently. Names and values
// of fields are checked later, by the code of the API.
type decoder struct {
	file  string
	lines map[string]int
	json  bytes.Buffer // valid if there are no errors
	errs  []error
}

func (d *decoder) refuse(n *yaml.Node, format string, args ...any) {
	d.errs = append(d.errs, fileError(d.file, n.Line, format, args...))
}

// key reads the fields that identify an object.
func (d *decoder) key(root *yaml.Node, namespace string) (k Key) {
	kind, name, in := keyField(root, "kind"), keyField(root, "name"), keyField(root, "namespace")
	switch {
	case kind == nil:
		d.refuse(root, "kind: missing: an object needs a kind, which is namespace, queue or schedule")
	case !slices.Contains(kinds, Kind(kind.Value)):
		d.refuse(kind, "kind: %q is not one of namespace, queue, schedule", kind.Value)
	default:
		k.Kind = Kind(kind.Value)
	}
	if name == nil {
		d.refuse(root, "name: missing: an object needs a name")
	} else if k.Name = d.text(name, "name"); k.Kind != "" {
		d.checkName(name, "name", k.Name)
	}
	switch {
	case k.Kind == Namespace && in != nil:
		d.refuse(in, "namespace: a namespace is in no other namespace: delete the line")
	case in != nil:
		d.lines["namespace"] = in.Line
		k.Namespace = d.text(in, "namespace")
		d.checkName(in, "namespace", k.Namespace)
	case k.Kind != Namespace:
		k.Namespace = namespace
	}
	return k
}

func keyField(root *yaml.Node, name string) *yaml.Node {
	for i := 0; i < len(root.Content); i += 2 {
		if root.Content[i].Value == name {
			return root.Content[i+1]
		}
	}
	return nil
}

func (d *decoder) checkName(n *yaml.Node, field, name string) {
	if invalid, ok := errors.AsType[*task.FieldError](task.ValidateName(field, name)); ok {
		d.refuse(n, "%s: %s", field, invalid.Detail)
	}
}

// isAlias refuses an alias, so that a file cannot grow when it is read.
func (d *decoder) isAlias(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		d.refuse(n, "aliases such as *%s are not supported: repeat the value", n.Value)
	}
	return n.Kind == yaml.AliasNode
}

// members converts a mapping. The fields of the key are skipped at the top level.
func (d *decoder) members(n *yaml.Node, path string) {
	first := map[string]int{}
	d.json.WriteByte('{')
	for i, separator := 0, ""; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		below := join(path, key.Value)
		line, twice := first[key.Value]
		first[key.Value] = key.Line
		switch {
		case d.isAlias(key):
		case key.Tag == "!!merge":
			d.refuse(key, "merge keys (<<) are not supported: repeat the fields")
		case key.Kind != yaml.ScalarNode:
			d.refuse(key, "the name of a field must be text")
		case twice:
			d.refuse(key, "%s is already set in line %d", below, line)
		case d.isAmbiguous(key, below):
		case path == "" && slices.Contains(keyFields, key.Value):
		case path == "" && excluded[key.Value] != "":
			d.refuse(key, "%s: %s", below, excluded[key.Value])
		default:
			d.json.WriteString(separator)
			separator = ","
			d.string(key.Value)
			d.json.WriteByte(':')
			d.lines[below] = value.Line
			d.value(value, below)
		}
	}
	d.json.WriteByte('}')
}

func (d *decoder) string(s string) {
	_ = wire.Encode(&d.json, s) // encoding a string into memory cannot fail
}

func (d *decoder) value(n *yaml.Node, path string) {
	switch {
	case d.isAlias(n):
	case n.Kind == yaml.MappingNode:
		d.members(n, path)
	case n.Kind == yaml.SequenceNode:
		d.json.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				d.json.WriteByte(',')
			}
			d.value(item, path)
		}
		d.json.WriteByte(']')
	default:
		d.scalar(n, path)
	}
}

func (d *decoder) scalar(n *yaml.Node, path string) {
	switch {
	case n.Tag == "!!timestamp" && (path == "start" || path == "end"): // a time in YAML is one in JSON
		d.string(n.Value)
	case d.isAmbiguous(n, path):
	case n.Tag == "!!str":
		d.string(n.Value)
	case n.Tag == "!!null" && !IsBody(path):
		d.refuse(n, "%s: the value is missing: delete the line to use the default", path)
	case n.Tag == "!!null":
		d.json.WriteString("null")
	case n.Tag == "!!bool":
		var b bool
		if n.Decode(&b) != nil {
			d.refuse(n, "%s: must be true or false", path)
		}
		d.json.WriteString(strconv.FormatBool(b))
	case n.Tag == "!!int", n.Tag == "!!float":
		d.number(n, path)
	default:
		d.refuse(n, "%s: a value that begins with ! must be in quotes", path) // the tag can be a secret
	}
}

// number writes a number with the digits of the file.
func (d *decoder) number(n *yaml.Node, path string) {
	text := strings.TrimPrefix(n.Value, "+")
	if !json.Valid([]byte(text)) { // a tag or quotes make it a number
		d.refuse(n, "%s: %s is not a number of JSON", path, n.Value)
	}
	d.json.WriteString(text)
}

// ambiguous matches the values without quotes that YAML 1.1 and 1.2, or JSON,
// read differently: other words for booleans, and numbers that are not in plain
// decimal digits, such as 010, 1:30, 1_000, 1e3 and 0x1F.
var (
	ambiguous = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|[-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-f_]+|\.inf|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)(e[-+]?[0-9]+)?)|\.nan)$`)
	decimal   = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
)

// isAmbiguous refuses a value if its meaning depends on the parser. A tag makes
// it clear that a number of JSON is one, and that a text is one.
func (d *decoder) isAmbiguous(n *yaml.Node, path string) bool {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	tagged := n.Style&yaml.TaggedStyle != 0 && (n.Tag == "!!str" || json.Valid([]byte(n.Value)))
	if n.Style&quoted != 0 && n.Tag == "!!str" || tagged || n.Tag != "!!timestamp" && !isAmbiguous(n.Value) {
		return false
	}
	d.refuse(n, "%s: parsers of YAML read this value in different ways: quote it if it is text, and write a number in decimal digits", path)
	return true
}

func isAmbiguous(plain string) bool {
	return ambiguous.MatchString(plain) && !decimal.MatchString(plain)
}

func (d *decoder) text(n *yaml.Node, path string) string {
	switch {
	case d.isAlias(n):
	case n.Kind != yaml.ScalarNode:
		d.refuse(n, "%s: must be text", path)
	case d.isAmbiguous(n, path):
	case n.Tag != "!!str":
		d.refuse(n, "%s: must be text: put the value in quotes", path) // without the value, which can be a secret
	}
	return n.Value
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
