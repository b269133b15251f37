package wording

import "strings"

// FieldName returns the last element of a field's path.
func FieldName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// FlagName returns the flag that has a field's name.
func FlagName(field string) string { return "--" + strings.ReplaceAll(field, "_", "-") }
