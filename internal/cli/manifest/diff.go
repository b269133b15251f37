package manifest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Difference is a field that gets another value. nil means that the field is not
// set.
type Difference struct {
	Field string          `json:"field"`
	From  json.RawMessage `json:"from"`
	To    json.RawMessage `json:"to"`
}

// Diff returns the fields that change when from becomes to, sorted by name.
// Both objects must be complete. The order of the members of a body, and white
// space between them, are no difference.
func Diff(from, to Object) ([]Difference, error) {
	before, err := from.values()
	if err != nil {
		return nil, err
	}
	after, err := to.values()
	if err != nil {
		return nil, err
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	var list []Difference
	for _, field := range slices.Sorted(maps.Keys(all)) {
		was, is := before[field], after[field]
		if bytes.Equal(was, is) {
			continue
		}
		if !IsBody(field) {
			was, is = orFalse(was, is), orFalse(is, was)
		}
		list = append(list, Difference{field, was, is})
	}
	return list, nil
}

// orFalse returns a value, or false if the value is not set and the other one is
// true: the default of all switches is false.
func orFalse(value, other json.RawMessage) json.RawMessage {
	if value == nil && string(other) == "true" {
		return json.RawMessage("false")
	}
	return value
}

// values returns the fields that are set, by their paths. A value is JSON in a
// form that is equal for equal values.
func (o *Object) values() (map[string]json.RawMessage, error) {
	data, err := o.form().MarshalJSON()
	if err != nil {
		return nil, err
	}
	values := map[string]json.RawMessage{}
	return values, flatten(values, "", data)
}

// free lists the fields that have any JSON as their value: they are compared as a
// whole.
var free = []string{"task.http.body", "task.work.args"}

// flatten adds the values in data, which is JSON, to values.
func flatten(values map[string]json.RawMessage, path string, data []byte) error {
	var members map[string]json.RawMessage
	if len(data) > 0 && data[0] == '{' && !slices.Contains(free, path) {
		if err := json.Unmarshal(data, &members); err != nil {
			return err
		}
		for name, value := range members {
			if path == "task.http.headers" { // names of headers ignore case
				name = strings.ToLower(name)
			}
			if err := flatten(values, join(path, name), value); err != nil {
				return err
			}
		}
		return nil
	}
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber() // keeps all digits
	var v any
	if err := numbers.Decode(&v); err != nil {
		return err
	}
	if v == false && !IsBody(path) { // as if absent
		return nil
	}
	sorted, err := json.Marshal(v)
	values[path] = sorted
	return err
}
