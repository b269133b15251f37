package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/foliot/foliot/tools/openapi"
)

const generatedFile = pageDir + "/src/api/openapi.gen.ts"

// types writes the types of the page.
var types openapi.TypeScript

// typescript returns the types of all schemas, and one call for each operation
// that replies with JSON.
func typescript(document []byte) ([]byte, error) {
	doc, err := openapi.Read(document)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("// Generated from the OpenAPI document by tools/bundle. DO NOT EDIT.\n\nimport { call } from './call'\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		out.WriteString("\n" + types.Interface(name, doc.Components.Schemas[name]))
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
func writeCall(out *bytes.Buffer, method, path string, op openapi.Operation) error {
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
		fields = append(fields, name+optional+": "+types.Type(p.Schema))
	}
	body := "undefined"
	if c, ok := op.RequestBody.Content["application/json"]; ok && c.Schema != nil {
		body = types.Type(*c.Schema)
	} else if len(op.RequestBody.Content) > 0 {
		return nil // a body of any type: the page does not call such operations
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
func replyType(op openapi.Operation) (string, bool) {
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if c, ok := op.Responses[status].Content["application/json"]; ok && status[0] == '2' && c.Schema != nil {
			return types.Type(*c.Schema), true
		}
	}
	return "", false
}

// camel turns the name of a header into a name of TypeScript: If-Match into
// ifMatch.
func camel(header string) string {
	words := strings.Split(header, "-")
	words[0] = strings.ToLower(words[0])
	return strings.Join(words, "")
}
