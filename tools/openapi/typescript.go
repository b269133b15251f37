package openapi

import (
	"fmt"
	"strings"
)

// TypeScript returns schemas as types of TypeScript.
type TypeScript struct {
	Docs bool // write descriptions as comments
}

// Interface returns the declaration of an object's type.
func (t TypeScript) Interface(name string, s Schema) string {
	return "export interface " + name + " " + t.object(s, "") + "\n"
}

// Type returns the expression of a type.
func (t TypeScript) Type(s Schema) string { return t.typeOf(s, "") }

func (t TypeScript) typeOf(s Schema, indent string) string {
	if s.Ref != "" {
		return s.Name()
	}
	kinds := s.kinds()
	if len(s.Enum) > 0 {
		return strings.Join(s.words(), " | ")
	}
	if len(kinds) == 0 {
		return "unknown"
	}
	types := make([]string, len(kinds))
	for i, kind := range kinds {
		types[i] = t.kindOf(kind, s, indent)
	}
	return strings.Join(types, " | ")
}

func (t TypeScript) kindOf(kind string, s Schema, indent string) string {
	switch kind {
	case "integer", "number":
		if s.Input {
			return "number | bigint"
		}
		return "number"
	case "string":
		if s.isTime() {
			return "string | Date"
		}
		return kind
	case "array":
		element := "unknown"
		if s.Items != nil {
			element = t.typeOf(*s.Items, indent)
		}
		return "Array<" + element + ">"
	case "object":
		return t.object(s, indent)
	default: // string, boolean, null
		return kind
	}
}

// object returns the type of an object: its fields, or a Record if s is a map.
func (t TypeScript) object(s Schema, indent string) string {
	if len(s.Properties) == 0 {
		if values, ok := s.values(); ok {
			return "Record<string, " + t.typeOf(values, indent) + ">"
		}
		return "Record<string, unknown>"
	}
	var out strings.Builder
	out.WriteString("{\n")
	for _, name := range s.Fields() {
		field := s.Properties[name]
		if t.Docs && field.Description != "" {
			fmt.Fprintf(&out, "%s  /** %s */\n", indent, strings.ReplaceAll(field.Description, "*/", "*\\/"))
		}
		optional := "?"
		if s.Requires(name) {
			optional = ""
		}
		fmt.Fprintf(&out, "%s  %s%s: %s\n", indent, name, optional, t.typeOf(field, indent+"  "))
	}
	out.WriteString(indent + "}")
	return out.String()
}
