package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// api is the content of a document that a client needs.
type api struct {
	title      string
	schemas    map[string]*schema
	operations []operation // by path and method
	problem    string      // the schema of errors
}

// operation is one method of one path.
type operation struct {
	id, method, path, summary string

	inPath  []parameter
	options []parameter // of the query and the header
	body    body
	reply   *schema // of JSON; nil means bytes
	secured bool
}

// parameter is one argument of a caller.
type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                *schema
}

// body is the body of a request.
type body struct {
	media    string  // empty means none
	schema   *schema // of JSON; nil means bytes of any type
	required bool
}

// schema is a type.
type schema struct {
	Ref         string `json:"$ref"`
	Type        types
	Description string
	Properties  map[string]*schema
	Required    []string
	Items       *schema
	Additional  additional `json:"additionalProperties"`
	Enum        []string
}

// types are a schema's: one, or one and null. None: anything.
type types []string

func (t *types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// additional is the type of a map's values; nil means that it is not a map.
type additional struct{ *schema }

func (a *additional) UnmarshalJSON(data []byte) error {
	var closed bool
	if json.Unmarshal(data, &closed) == nil {
		return nil
	}
	return json.Unmarshal(data, &a.schema)
}

// media are the bodies of a request or reply, by their type.
type media map[string]struct{ Schema *schema }

type response struct {
	Ref     string `json:"$ref"`
	Content media
}

// document is the part of OpenAPI 3.1 that this program reads.
type document struct {
	OpenAPI string
	Info    struct{ Title string }
	Paths   map[string]map[string]struct {
		OperationID string
		Summary     string
		Parameters  []parameter
		RequestBody struct {
			Required bool
			Content  media
		}
		Responses map[string]response
		Security  []map[string][]string
	}
	Components struct {
		Schemas         map[string]*schema
		Responses       map[string]response
		SecuritySchemes map[string]struct{ Type, Scheme string }
	}
}

const jsonType, problemType = "application/json", "application/problem+json"

// read reads a document.
func read(r io.Reader) (*api, error) {
	var d document
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	if !strings.HasPrefix(d.OpenAPI, "3.1.") {
		return nil, fmt.Errorf("read the document: OpenAPI 3.1 is expected, not %q", d.OpenAPI)
	}
	a := &api{title: d.Info.Title, schemas: d.Components.Schemas}
	for _, path := range sorted(d.Paths) {
		for _, method := range sorted(d.Paths[path]) {
			op, err := d.operation(a, path, method)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			a.operations = append(a.operations, op)
		}
	}
	if a.problem == "" {
		return nil, errors.New("no operation has a schema for its errors")
	}
	return a, nil
}

func (d *document) operation(a *api, path, method string) (operation, error) {
	o := d.Paths[path][method]
	op := operation{id: o.OperationID, method: strings.ToUpper(method), path: path, summary: o.Summary}
	if len(words(op.id)) == 0 {
		return op, errors.New("it has no operationId")
	}
	for _, p := range o.Parameters {
		if len(words(p.Name)) == 0 {
			return op, errors.New("a parameter has no name")
		}
		switch p.In {
		case "path":
			op.inPath = append(op.inPath, p)
		case "query", "header":
			op.options = append(op.options, p)
		default:
			return op, fmt.Errorf("a parameter in %q", p.In)
		}
	}
	if content := o.RequestBody.Content; len(content) > 0 {
		op.body = body{media: jsonType, required: o.RequestBody.Required}
		if json, ok := content[jsonType]; ok {
			op.body.schema = json.Schema
		} else {
			op.body.media = sorted(content)[0]
		}
	}
	for _, need := range o.Security {
		for name := range need {
			scheme := d.Components.SecuritySchemes[name]
			if scheme.Type != "http" || scheme.Scheme != "bearer" {
				return op, fmt.Errorf("the security scheme %q is no bearer token", name)
			}
			op.secured = true
		}
	}
	return op, d.replies(a, &op, o.Responses)
}

// replies finds the schemas of a success and of an error.
func (d *document) replies(a *api, op *operation, replies map[string]response) error {
	for _, status := range sorted(replies) {
		r := replies[status]
		if r.Ref != "" {
			name, _ := strings.CutPrefix(r.Ref, "#/components/responses/")
			r = d.Components.Responses[name]
		}
		if p, ok := r.Content[problemType]; ok {
			a.problem = name(p.Schema)
			continue
		}
		if !strings.HasPrefix(status, "2") {
			return fmt.Errorf("the reply %s is neither a success nor a problem", status)
		}
		if json, ok := r.Content[jsonType]; ok && json.Schema != nil {
			op.reply = json.Schema
		}
	}
	return nil
}

// name returns the name of the schema that s refers to. It returns "" if s
// refers to no other schema.
func name(s *schema) string {
	if s == nil {
		return ""
	}
	n, _ := strings.CutPrefix(s.Ref, "#/components/schemas/")
	return n
}

func (s *schema) requires(property string) bool { return slices.Contains(s.Required, property) }

// words returns the words of a name in the document: If-Match, due_before,
// createTask.
func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' })
}
