package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// File is the path of the document in the repository.
const File = "internal/api/openapi.json"

// Document is the part of an OpenAPI document that the generators need.
type Document struct {
	Paths      map[string]map[string]Operation
	Components struct{ Schemas map[string]Schema }
}

// Operation is one method of one path.
type Operation struct {
	OperationID string
	Summary     string
	Tags        []string
	Parameters  []Parameter
	RequestBody struct{ Content map[string]Content }
	Responses   map[string]Response
	Security    []map[string][]string
}

// Response is one reply of an operation.
type Response struct {
	Content map[string]Content
	Headers map[string]struct{ Description string }
}

// Parameter is a part of the path, the query or the header.
type Parameter struct {
	Name, In    string
	Description string
	Required    bool
	Schema      Schema
}

// Content is a body of one media type.
type Content struct{ Schema *Schema }

// Schema is a type, or the name of one in Ref.
type Schema struct {
	Ref                  string `json:"$ref"`
	Description          string
	Type                 any // a string, or a list of them
	Enum                 []any
	Items                *Schema
	Properties           map[string]Schema
	Required             []string
	AdditionalProperties json.RawMessage
	Format, Pattern      string
	Input                bool // only requests have it: a client encodes values of other types too
}

// isTime and isDuration report what the text of a request means.
func (s Schema) isTime() bool     { return s.Input && s.Format == "date-time" }
func (s Schema) isDuration() bool { return s.Input && strings.HasPrefix(s.Pattern, "^[-+]?(0|") }

// Widen returns s as a part of a request.
func (s Schema) Widen() Schema {
	s.Input = true
	if s.Items != nil {
		items := s.Items.Widen()
		s.Items = &items
	}
	fields := map[string]Schema{}
	for name, field := range s.Properties {
		if _, zoned := s.Properties["timezone"]; zoned && name == "at" {
			field.Format = "date-time" // or a local time, so the document gives no format
		}
		fields[name] = field.Widen()
	}
	s.Properties = fields
	return s
}

// Read reads a document.
func Read(data []byte) (*Document, error) {
	d := new(Document)
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	return d, nil
}

// Name returns the name that s refers to, or "" if s is a type of its own.
func (s Schema) Name() string { return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] }

// Requires reports whether an object of this type always has the field.
func (s Schema) Requires(field string) bool { return slices.Contains(s.Required, field) }

// Fields returns the names of the fields, sorted.
func (s Schema) Fields() []string { return slices.Sorted(maps.Keys(s.Properties)) }

// kinds returns the JSON types that a value of s can have. An empty result
// stands for all types.
func (s Schema) kinds() []string {
	var kinds []string
	switch t := s.Type.(type) {
	case string:
		kinds = []string{t}
	case []any:
		for _, kind := range t {
			kinds = append(kinds, fmt.Sprint(kind))
		}
	}
	return kinds
}

// values returns the type of the values if s is a map. It reports false if s
// does not give this type.
func (s Schema) values() (Schema, bool) {
	var values Schema
	err := json.Unmarshal(s.AdditionalProperties, &values)
	return values, err == nil && values.Type != nil
}

// words returns the allowed values as JSON.
func (s Schema) words() []string {
	words := make([]string, len(s.Enum))
	for i, e := range s.Enum {
		word, _ := json.Marshal(e) // a scalar of JSON
		words[i] = string(word)
	}
	return words
}
