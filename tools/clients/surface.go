package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/foliot/foliot/tools/openapi"
)

// surface has the types that the client packages need.
type surface struct {
	queries map[string]openapi.Schema // query parameters of an operation, as an object
	schemas map[string]openapi.Schema
}

// surfaceOf returns the types of the errors and of the operations that the
// packages support.
func surfaceOf(doc *openapi.Document) (surface, error) {
	s := surface{map[string]openapi.Schema{}, map[string]openapi.Schema{}}
	tagged := map[string]bool{}
	replies := surface{map[string]openapi.Schema{}, map[string]openapi.Schema{}}
	replies.add(doc, openapi.Schema{Ref: "Problem"})
	s.add(doc, openapi.Schema{Ref: "Problem"})
	for _, path := range doc.Paths {
		for _, op := range path {
			if !supported(op) {
				continue
			}
			s.addQuery(op)
			for _, c := range op.RequestBody.Content {
				s.addContent(doc, c)
			}
			for _, reply := range op.Responses {
				for _, c := range reply.Content {
					s.addContent(doc, c)
					replies.addContent(doc, c)
					if _, ok := reply.Headers["ETag"]; ok && c.Schema != nil {
						tagged[c.Schema.Name()] = true
					}
				}
			}
		}
	}
	for name := range tagged {
		s.addTag(name)
	}
	for name, schema := range s.schemas {
		if len(schema.Properties) == 0 {
			return s, fmt.Errorf("the schema %s has no fields", name)
		}
		if _, shared := replies.schemas[name]; !shared {
			s.schemas[name] = schema.Widen()
		}
	}
	return s, nil
}

// supported reports whether the packages have a method for an operation. Batches
// are none: the packages make them of single calls.
func supported(op openapi.Operation) bool {
	if op.OperationID == "createTasks" {
		return false
	}
	return op.OperationID == "whoami" || slices.ContainsFunc(op.Tags, func(tag string) bool {
		return tag == "tasks" || tag == "schedules" || tag == "queues"
	})
}

// addQuery adds the query parameters of an operation, if it has any, as one
// object.
func (s surface) addQuery(op openapi.Operation) {
	query := openapi.Schema{Type: "object", Properties: map[string]openapi.Schema{}}
	for _, p := range op.Parameters {
		if p.In != "query" {
			continue
		}
		p.Schema.Description = p.Description
		query.Properties[p.Name] = p.Schema
		if p.Required {
			query.Required = append(query.Required, p.Name)
		}
	}
	if len(query.Properties) > 0 {
		s.queries[strings.ToUpper(op.OperationID[:1])+op.OperationID[1:]+"Query"] = query.Widen()
	}
}

func (s surface) addContent(doc *openapi.Document, c openapi.Content) {
	if c.Schema != nil {
		s.add(doc, *c.Schema)
	}
}

// add adds all types that a type refers to.
func (s surface) add(doc *openapi.Document, schema openapi.Schema) {
	if name := schema.Name(); name != "" {
		if _, known := s.schemas[name]; known {
			return
		}
		schema = doc.Components.Schemas[name]
		s.schemas[name] = schema
	}
	if schema.Items != nil {
		s.add(doc, *schema.Items)
	}
	for _, field := range schema.Properties {
		s.add(doc, field)
	}
}

// addTag adds the entity tag to a type. The server sends it in a header.
func (s surface) addTag(name string) {
	schema := s.schemas[name]
	schema.Properties = maps.Clone(schema.Properties)
	schema.Properties["etag"] = openapi.Schema{
		Type: "string", Description: "The version of the record, for a condition. The client reads it from the header ETag, so records of a list have none.",
	}
	s.schemas[name] = schema
}

func typescript(s surface) []byte {
	types := openapi.TypeScript{Docs: true}
	var out strings.Builder
	out.WriteString(head("//"))
	for _, all := range []map[string]openapi.Schema{s.schemas, s.queries} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			out.WriteString("\n" + types.Interface(name, all[name]))
		}
	}
	return []byte(out.String())
}

func python(s surface) []byte {
	var out strings.Builder
	out.WriteString(head("#") + `"""The types of the API's requests and replies."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict
`)
	for _, name := range slices.Sorted(maps.Keys(s.schemas)) {
		out.WriteString("\n\n" + openapi.TypedDict(name, s.schemas[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(s.queries)) {
		out.WriteString("\n\n" + openapi.TypedDict(name, openapi.PythonArguments(s.queries[name])))
	}
	return []byte(out.String())
}
