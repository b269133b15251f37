package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const generatedFile = pageDir + "/src/api/openapi.gen.ts"

// document is the part of an OpenAPI document that the page needs.
type document struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	OperationID string
	Parameters  []parameter
	RequestBody struct{ Content map[string]content }
	Responses   map[string]struct{ Content map[string]content }
	Security    []map[string][]string
}

type parameter struct {
	Name, In string
	Required bool
	Schema   schema
}

type content struct{ Schema *schema }

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any    // a string, or a list of them
	Enum                 []any
	Items                *schema
	Properties           map[string]schema
	Required             []string
	AdditionalProperties json.RawMessage
}

// typescript returns the types of all schemas, and one call for each operation
// that replies with JSON.
func typescript(openAPI []byte) ([]byte, error) {
	var doc document
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("// Generated from the OpenAPI document by tools/bundle. DO NOT EDIT.\n\nimport { call } from './call'\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		fmt.Fprintf(&out, "\nexport interface %s %s\n", name, object(doc.Components.Schemas[name], ""))
	}
	out.WriteByte('\n')
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			if err := writeCall(&out, strings.ToUpper(method), path, doc.Paths[path][method]); err != nil {
				return nil, err
			}
		}
	}
	return out.Bytes(), nil
}

// writeCall writes the function that calls an operation.
func writeCall(out *bytes.Buffer, method, path string, op operation) error {
	reply, ok := replyType(op)
	if !ok {
		return nil
	}
	var fields, headers []string
	for _, p := range op.Parameters {
		name, optional := p.Name, "?"
		if p.In == "path" {
			optional = ""
		}
		if p.In == "header" {
			if name == "Foliot-Namespace" {
				continue // every call sends it
			}
			name = camel(name)
			headers = append(headers, fmt.Sprintf("%s: '%s'", name, p.Name))
		}
		fields = append(fields, name+optional+": "+typeOf(p.Schema, ""))
	}
	body := "undefined"
	if c, ok := op.RequestBody.Content["application/json"]; ok && c.Schema != nil {
		body = typeOf(*c.Schema, "")
	} else if len(op.RequestBody.Content) > 0 {
		return nil // a body of any type: the page has no use for it
	}
	scope, operator := "", false
	for _, requirement := range op.Security {
		for _, roles := range requirement {
			scope, operator = roles[0], slices.Contains(roles, "operator")
		}
	}
	params := "{}"
	if len(fields) > 0 {
		params = "{ " + strings.Join(fields, "; ") + " }"
	}
	fmt.Fprintf(out, "export const %s = /* @__PURE__ */ call<%s, %s, %s>('%s', '%s', '%s', %t", op.OperationID, params, body, reply, method, strings.TrimPrefix(path, "/"), scope, operator)
	if len(headers) > 0 {
		fmt.Fprintf(out, ", { %s }", strings.Join(headers, ", "))
	}
	out.WriteString(")\n")
	return nil
}

// replyType returns the type of the JSON of a successful reply.
func replyType(op operation) (string, bool) {
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if c, ok := op.Responses[status].Content["application/json"]; ok && status[0] == '2' && c.Schema != nil {
			return typeOf(*c.Schema, ""), true
		}
	}
	return "", false
}

func typeOf(s schema, indent string) string {
	if s.Ref != "" {
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	}
	if len(s.Enum) > 0 {
		words := make([]string, len(s.Enum))
		for i, e := range s.Enum {
			word, _ := json.Marshal(e)
			words[i] = string(word)
		}
		return strings.Join(words, " | ")
	}
	var kinds []string
	switch t := s.Type.(type) {
	case string:
		kinds = []string{t}
	case []any:
		for _, kind := range t {
			kinds = append(kinds, fmt.Sprint(kind))
		}
	}
	if len(kinds) == 0 {
		return "unknown"
	}
	types := make([]string, len(kinds))
	for i, kind := range kinds {
		types[i] = kindOf(kind, s, indent)
	}
	return strings.Join(types, " | ")
}

func kindOf(kind string, s schema, indent string) string {
	switch kind {
	case "integer", "number":
		return "number"
	case "array":
		element := "unknown"
		if s.Items != nil {
			element = typeOf(*s.Items, indent)
		}
		return "Array<" + element + ">"
	case "object":
		return object(s, indent)
	default: // string, boolean, null
		return kind
	}
}

// object returns the type of an object: its fields, or a record of equal values.
func object(s schema, indent string) string {
	if len(s.Properties) == 0 {
		var values schema
		if json.Unmarshal(s.AdditionalProperties, &values) == nil && values.Type != nil {
			return "Record<string, " + typeOf(values, indent) + ">"
		}
		return "Record<string, unknown>"
	}
	var out strings.Builder
	out.WriteString("{\n")
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		optional := "?"
		if slices.Contains(s.Required, name) {
			optional = ""
		}
		fmt.Fprintf(&out, "%s  %s%s: %s\n", indent, name, optional, typeOf(s.Properties[name], indent+"  "))
	}
	out.WriteString(indent + "}")
	return out.String()
}

// camel turns the name of a header into a name of TypeScript: If-Match into
// ifMatch.
func camel(header string) string {
	words := strings.Split(header, "-")
	words[0] = strings.ToLower(words[0])
	return strings.Join(words, "")
}
