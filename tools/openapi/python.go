package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// TypedDict returns the declaration of an object's type for Python 3.10, which
// has no NotRequired: a base class has the required fields.
func TypedDict(name string, s Schema) string {
	required, optional := Schema{Properties: map[string]Schema{}}, Schema{Properties: map[string]Schema{}}
	for field, kind := range s.Properties {
		if s.Requires(field) {
			required.Properties[field] = kind
		} else {
			optional.Properties[field] = kind
		}
	}
	switch {
	case len(required.Properties) == 0:
		return typedDict(name, "TypedDict", false, optional)
	case len(optional.Properties) == 0:
		return typedDict(name, "TypedDict", true, required)
	}
	return typedDict("_"+name, "TypedDict", true, required) + "\n\n" + typedDict(name, "_"+name, false, optional)
}

func typedDict(name, base string, total bool, s Schema) string {
	option := ""
	if !total {
		option = ", total=False"
	}
	if slices.ContainsFunc(s.Fields(), pythonKeyword) {
		return functional(name, option, s)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "class %s(%s%s):\n", name, base, option)
	for _, field := range s.Fields() {
		fmt.Fprintf(&out, "    %s: %s\n", field, pythonType(s.Properties[field]))
		if d := s.Properties[field].Description; d != "" {
			fmt.Fprintf(&out, "    %s\n", docString(d))
		}
	}
	if len(s.Properties) == 0 {
		out.WriteString("    pass\n")
	}
	return out.String()
}

// functional returns the declaration of a type that has a field with a reserved
// name, such as "for": a class cannot have it. Python evaluates the types of
// such a declaration at once. They are quoted, so they can refer to later
// types.
func functional(name, option string, s Schema) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s = TypedDict(\n    %q,\n    {\n", name, name)
	for _, field := range s.Fields() {
		if d := s.Properties[field].Description; d != "" {
			fmt.Fprintf(&out, "        # %s\n", d)
		}
		fmt.Fprintf(&out, "        %q: %q,\n", field, pythonType(s.Properties[field]))
	}
	fmt.Fprintf(&out, "    }%s,\n)\n", strings.Replace(option, ", ", ",\n    ", 1))
	return out.String()
}

func pythonType(s Schema) string {
	if s.Ref != "" {
		return s.Name()
	}
	if len(s.Enum) > 0 {
		return "Literal[" + strings.Join(s.words(), ", ") + "]"
	}
	var types []string
	for _, kind := range s.kinds() {
		types = append(types, pythonKind(kind, s))
	}
	if len(types) == 0 {
		return "Any"
	}
	return strings.Join(types, " | ")
}

func pythonKind(kind string, s Schema) string {
	switch {
	case kind == "string" && s.isTime():
		return "str | datetime"
	case kind == "string" && s.isDuration():
		return "str | timedelta"
	}
	switch kind {
	case "array":
		element := "Any"
		if s.Items != nil {
			element = pythonType(*s.Items)
		}
		return "list[" + element + "]"
	case "object":
		if values, ok := s.values(); ok {
			return "dict[str, " + pythonType(values) + "]"
		}
		return "dict[str, Any]"
	}
	return map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}[kind]
}

// PythonArguments returns s with field names that can be keyword arguments: for
// example, "from" becomes "from_".
func PythonArguments(s Schema) Schema {
	fields := maps.Clone(s.Properties)
	for field, kind := range s.Properties {
		if pythonKeyword(field) {
			delete(fields, field)
			fields[field+"_"] = kind
		}
	}
	s.Properties = fields
	return s
}

func docString(text string) string {
	quoted := strconv.Quote(text)
	return `""` + strings.ReplaceAll(quoted, `\"`, `'`) + `""`
}

// pythonKeyword reports whether Python reserves the word.
func pythonKeyword(word string) bool {
	return slices.Contains([]string{
		"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "finally",
		"for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try",
		"while", "with", "yield",
	}, word)
}
