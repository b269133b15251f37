package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/foliot/foliot/client"
)

// Write writes an object of a server as a document without the fields that have
// their defaults. queue has the settings of the queue of a schedule's tasks. If
// withNamespace is not set, the document does not name the namespace.
//
// Write reads the document again, and fails if a field has another value then.
func Write(w io.Writer, o Object, queue client.QueueSettings, withNamespace bool) error {
	o = o.Complete(queue)
	text, err := o.document(queue, withNamespace)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Key, err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return fmt.Errorf("%s has no form in YAML: %w", o.Key, err)
	}
	again, errs := decodeObject("the export", root.Content[0], o.Namespace)
	if len(errs) > 0 {
		return fmt.Errorf("%s has no form in YAML: %w", o.Key, errs[0])
	}
	if err := again.form().UnmarshalJSON(again.json); err != nil {
		return fmt.Errorf("%s has no form in YAML: %w", o.Key, err)
	}
	changed, err := Diff(o, again.Complete(queue))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", o.Key, err)
	case len(changed) > 0:
		return fmt.Errorf("%s: the field %s has a value that YAML cannot express", o.Key, changed[0].Field)
	}
	_, err = w.Write(text)
	return err
}

func (o *Object) document(queue client.QueueSettings, withNamespace bool) ([]byte, error) {
	own, err := o.form().MarshalJSON()
	if err != nil {
		return nil, err
	}
	usual, err := o.defaults(queue).values()
	if err != nil {
		return nil, err
	}
	body, err := node(json.NewDecoder(bytes.NewReader(own)), "", usual)
	if err != nil {
		return nil, err
	}
	root := &yaml.Node{Kind: yaml.MappingNode}
	add := func(name, value string) {
		root.Content = append(root.Content, text(name), text(value))
	}
	add("kind", string(o.Kind))
	if withNamespace && o.Namespace != "" {
		add("namespace", o.Namespace)
	}
	add("name", o.Name)
	if body != nil {
		root.Content = append(root.Content, body.Content...)
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}

// defaults returns an object whose fields all have their defaults, except those
// that every schedule must set.
func (o *Object) defaults(queue client.QueueSettings) *Object {
	plain := Object{Key: o.Key}
	if o.Kind == Schedule {
		plain.ScheduleSpec = client.ScheduleSpec{Cron: o.ScheduleSpec.Cron, Every: o.ScheduleSpec.Every}
		plain.ScheduleSpec.Task.Work.Kind = o.ScheduleSpec.Task.Work.Kind
	}
	plain = plain.Complete(queue)
	plain.ScheduleSpec.Cron, plain.ScheduleSpec.Every, plain.ScheduleSpec.Task.Work.Kind = "", 0, ""
	return &plain
}

// node reads a JSON value as YAML, in the order of its members. It returns nil
// for a value that is the default of the field, and for an object without other
// members.
func node(in *json.Decoder, path string, usual map[string]json.RawMessage) (*yaml.Node, error) {
	in.UseNumber()
	token, err := in.Token()
	if err != nil {
		return nil, err
	}
	var n *yaml.Node
	switch v := token.(type) {
	case json.Delim:
		return container(in, v, path, usual)
	case string:
		n = text(v)
	case json.Number:
		n = &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()}
		if !decimal.MatchString(n.Value) { // parsers of YAML differ, unless a tag says what it is
			n.Tag, n.Style = "!!float", yaml.TaggedStyle
		}
	default:
		plain, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		n = &yaml.Node{Kind: yaml.ScalarNode, Value: string(plain)}
	}
	values := map[string]json.RawMessage{}
	encoded, err := json.Marshal(token)
	if err == nil {
		err = flatten(values, path, encoded)
	}
	if IsBody(path) || err != nil {
		return n, err
	}
	if value, set := values[path]; !set || bytes.Equal(value, usual[path]) {
		return nil, nil
	}
	return n, nil
}

// IsBody reports whether a path is a body or arguments, or a part of them. They
// have no defaults.
func IsBody(path string) bool {
	for _, name := range free {
		if path == name || strings.HasPrefix(path, name+".") {
			return true
		}
	}
	return false
}

func container(in *json.Decoder, open json.Delim, path string, usual map[string]json.RawMessage) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	if open == '{' {
		n.Kind = yaml.MappingNode
	}
	for in.More() {
		below := path
		var name *yaml.Node
		if open == '{' {
			token, err := in.Token()
			if err != nil {
				return nil, err
			}
			name = text(token.(string))
			below = join(path, name.Value)
		}
		value, err := node(in, below, usual)
		switch {
		case err != nil:
			return nil, err
		case value == nil:
		case name == nil:
			n.Content = append(n.Content, value)
		default:
			n.Content = append(n.Content, name, value)
		}
	}
	if _, err := in.Token(); err != nil { // the closing bracket
		return nil, err
	}
	if len(n.Content) == 0 {
		if !IsBody(path) {
			return nil, nil
		}
		n.Style = yaml.FlowStyle
	}
	return n, nil
}

// text returns a text, in double quotes if a block of YAML cannot hold it
// exactly.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	odd := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	if isAmbiguous(s) || strings.ContainsFunc(s, odd) || strings.Contains(s, " \n") || strings.HasPrefix(s, "\n") || strings.HasPrefix(s, " ") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
