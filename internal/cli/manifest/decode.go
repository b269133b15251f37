package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/internal/wire/fields"
)

// forms has the type of the API for the fields of each kind.
var forms = map[Kind]reflect.Type{
	Namespace: reflect.TypeFor[wire.NamespaceInput](),
	Queue:     reflect.TypeFor[wire.QueueInput](),
	Schedule:  reflect.TypeFor[wire.ScheduleInput](),
}

// excluded has the fields of the API that a file cannot set, and the reason.
var excluded = map[string]string{
	"managed_by": "foliot apply sets the owner: pass --owner",
	"anchor":     "this field only moves a schedule to another server with foliot import: set start",
	"runs":       "this field only moves a schedule to another server with foliot import: leave it out",
}

// decodeObject returns the object that a document describes, or the errors of
// all its fields.
func decodeObject(file string, root *yaml.Node, namespace string) (Object, []error) {
	d := decoder{file: file, lines: map[string]int{"": root.Line}}
	if root.Kind != yaml.MappingNode {
		d.refuse(root, `a document must be an object with the fields kind and name, such as "kind: queue"`)
		return Object{}, d.errs
	}
	o := Object{Key: d.key(root, namespace), file: file, lines: d.lines}
	form := forms[o.Kind]
	if form == nil {
		return o, d.errs // the other fields depend on the kind
	}
	d.object(root, form, "")
	if len(d.errs) > 0 {
		return o, d.errs
	}
	var into any
	switch o.Kind {
	case Namespace:
		into = &o.NamespaceSettings
	case Queue:
		into = &o.QueueSettings
	case Schedule:
		into = &o.ScheduleSpec
	}
	if err := json.Unmarshal(d.json.Bytes(), into); err != nil {
		d.refuse(root, "%v", err)
	}
	return o, d.errs
}

// decoder converts YAML to the JSON of the API. It checks types and limits, and
// collects the errors of all fields.
type decoder struct {
	file  string
	lines map[string]int
	json  bytes.Buffer
	depth int // of the value of a body or of arguments
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
	var invalid *task.FieldError
	if errors.As(task.ValidateName(field, name), &invalid) {
		d.refuse(n, "%s: %s", field, invalid.Detail)
	}
}

// value converts a value of the given type of the API.
func (d *decoder) value(n *yaml.Node, t reflect.Type, tag reflect.StructTag, path string) {
	d.lines[path] = n.Line
	if t == reflect.TypeFor[json.RawMessage]() {
		d.anything(n, path)
		return
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case d.isAlias(n):
	case n.Tag == "!!null":
		d.refuse(n, "%s: the value is missing: delete the line to use the default", path)
	case t.Kind() == reflect.Struct && d.isMapping(n, path):
		d.object(n, t, path)
	case t.Kind() == reflect.Map && d.isMapping(n, path):
		d.texts(n, path)
	case t.Kind() != reflect.Struct && t.Kind() != reflect.Map:
		d.scalar(n, t, tag, path)
	}
}

// isAlias refuses an alias, so that a file cannot grow when it is read.
func (d *decoder) isAlias(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		d.refuse(n, "aliases such as *%s are not supported: repeat the value", n.Value)
	}
	return n.Kind == yaml.AliasNode
}

func (d *decoder) isMapping(n *yaml.Node, path string) bool {
	if n.Kind != yaml.MappingNode {
		d.refuse(n, "%s: must be an object with fields", path)
	}
	return n.Kind == yaml.MappingNode
}

// object converts a mapping with the fields of a struct of the API. The fields
// of the key are skipped at the top level.
func (d *decoder) object(n *yaml.Node, form reflect.Type, path string) {
	byName := fieldsOf(form)
	d.members(n, path, func(key, value *yaml.Node) bool {
		field, known := byName[key.Value]
		below := join(path, key.Value)
		switch why, no := excluded[below]; {
		case path == "" && slices.Contains([]string{"kind", "name", "namespace"}, key.Value):
			return false
		case no && known:
			d.refuse(key, "%s: %s", below, why)
		case !known:
			d.refuse(key, "unknown field %s%s", below, cmp.Or(usage.DidYouMean(key.Value, namesIn(byName)), "; the fields are "+strings.Join(namesIn(byName), ", ")))
		default:
			d.name(key.Value)
			d.value(value, field.Type, field.Tag, below)
			return true
		}
		return false
	})
}

// members converts a mapping. convert writes a member and reports true, or
// skips it.
func (d *decoder) members(n *yaml.Node, path string, convert func(key, value *yaml.Node) bool) {
	first := map[string]int{}
	d.json.WriteByte('{')
	for i, written := 0, false; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch line, twice := first[key.Value]; {
		case d.isAlias(key):
			continue
		case key.Tag == "!!merge":
			d.refuse(key, "merge keys (<<) are not supported: repeat the fields")
			continue
		case key.Kind != yaml.ScalarNode:
			d.refuse(key, "the name of a field must be text")
			continue
		case twice:
			d.refuse(key, "%s is already set in line %d", join(path, key.Value), line)
			continue
		case d.isAmbiguous(key, join(path, key.Value)):
			continue
		}
		first[key.Value] = key.Line
		mark := d.json.Len()
		if written {
			d.json.WriteByte(',')
		}
		if convert(key, value) {
			written = true
		} else {
			d.json.Truncate(mark)
		}
	}
	d.json.WriteByte('}')
}

// name writes the name of a member.
func (d *decoder) name(name string) {
	d.string(name)
	d.json.WriteByte(':')
}

func (d *decoder) string(s string) {
	_ = wire.Encode(&d.json, s) // encoding a string into memory cannot fail
}

// texts converts a mapping from names to texts.
func (d *decoder) texts(n *yaml.Node, path string) {
	d.members(n, path, func(key, value *yaml.Node) bool {
		below := join(path, key.Value)
		d.lines[below] = value.Line
		d.name(key.Value)
		d.string(d.text(value, below))
		return true
	})
}

// text returns the value of a field that is text.
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

// scalar converts a text, a number or a boolean.
func (d *decoder) scalar(n *yaml.Node, t reflect.Type, tag reflect.StructTag, path string) {
	switch t.Kind() {
	case reflect.String:
		d.string(d.checkText(n, tag, path))
	case reflect.Bool:
		d.boolean(n, path)
	case reflect.Float64:
		var f float64
		switch {
		case d.isAmbiguous(n, path):
		case n.Tag != "!!int" && n.Tag != "!!float", n.Decode(&f) != nil:
			d.refuse(n, "%s: must be a number", path)
		default:
			d.checkRange(n, f, tag, path)
			d.number(n, path)
		}
	default: // an integer
		var i int64
		switch {
		case d.isAmbiguous(n, path):
		case n.Tag != "!!int", n.Decode(&i) != nil:
			d.refuse(n, "%s: must be a whole number", path)
		default:
			d.checkRange(n, float64(i), tag, path)
			d.json.WriteString(strconv.FormatInt(i, 10))
		}
	}
}

func (d *decoder) boolean(n *yaml.Node, path string) {
	var b bool
	if n.Tag != "!!bool" || n.Decode(&b) != nil {
		d.refuse(n, "%s: must be true or false", path)
	}
	d.json.WriteString(strconv.FormatBool(b))
}

// checkText returns the value of a text. It checks the forms that the API
// names.
func (d *decoder) checkText(n *yaml.Node, tag reflect.StructTag, path string) string {
	before, s := len(d.errs), n.Value
	switch {
	case n.Tag == "!!int" && tag.Get("pattern") == "duration":
		d.refuse(n, "%s: must be a duration with a unit, such as %ss", path, n.Value)
	case n.Tag == "!!timestamp" && tag.Get("format") == "date-time": // a time in YAML is one in JSON
	default:
		s = d.text(n, path)
	}
	if len(d.errs) > before {
		return ""
	}
	switch {
	case tag.Get("pattern") == "duration":
		if _, err := time.ParseDuration(s); err != nil {
			d.refuse(n, "%s: %q is not a duration, such as 90s, 1h30m or 250ms", path, s)
		}
	case tag.Get("format") == "date-time":
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			d.refuse(n, "%s: %q is not a time, such as 2030-01-02T15:04:05Z", path, s)
		}
	case tag.Get("enum") != "":
		if words := strings.Split(tag.Get("enum"), ","); !slices.Contains(words, s) {
			d.refuse(n, "%s: %q is not one of %s", path, s, strings.Join(words, ", "))
		}
	}
	return s
}

// checkRange refuses a number beyond the limits that the API names. A client
// would leave out a zero, so that 0 would mean no limit.
func (d *decoder) checkRange(n *yaml.Node, v float64, tag reflect.StructTag, path string) {
	if least, err := strconv.ParseFloat(tag.Get("minimum"), 64); err == nil && v < least {
		d.refuse(n, "%s: must be at least %s; delete the line to use the default", path, tag.Get("minimum"))
	}
	if most, err := strconv.ParseFloat(tag.Get("maximum"), 64); err == nil && v > most {
		d.refuse(n, "%s: must be at most %s", path, tag.Get("maximum"))
	}
}

// anything converts any value, for the body of a request and the arguments of a
// handler.
func (d *decoder) anything(n *yaml.Node, path string) {
	d.depth++
	defer func() { d.depth-- }()
	switch {
	case d.isAlias(n):
	case d.depth > task.MaxNesting && n.Kind != yaml.ScalarNode:
		d.refuse(n, "%s: must be nested at most %d levels deep: write deeper JSON as a text", path, task.MaxNesting)
	case n.Kind == yaml.MappingNode:
		d.members(n, path, func(key, value *yaml.Node) bool {
			d.name(key.Value)
			d.anything(value, join(path, key.Value))
			return true
		})
	case n.Kind == yaml.SequenceNode:
		d.json.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				d.json.WriteByte(',')
			}
			d.anything(item, path)
		}
		d.json.WriteByte(']')
	default:
		d.anyScalar(n, path)
	}
}

func (d *decoder) anyScalar(n *yaml.Node, path string) {
	switch {
	case d.isAmbiguous(n, path):
	case n.Tag == "!!str":
		d.string(n.Value)
	case n.Tag == "!!null":
		d.json.WriteString("null")
	case n.Tag == "!!bool":
		d.boolean(n, path)
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

// fieldsOf returns the fields of a struct of the API by their names.
func fieldsOf(form reflect.Type) map[string]reflect.StructField {
	byName := map[string]reflect.StructField{}
	for _, f := range fields.Of(form) {
		byName[f.JSON] = f.StructField
	}
	return byName
}

func namesIn(fields map[string]reflect.StructField) []string {
	var names []string
	for name := range fields {
		if _, no := excluded[name]; !no {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return fmt.Sprintf("%s.%s", path, name)
}
