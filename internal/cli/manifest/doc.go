// Package manifest reads and writes files with the objects of foliot apply:
// namespaces, queues and schedules as YAML.
//
// Read decodes files strictly: an unknown field, a wrong type or a second
// object of the same name is an error with its file and line. Complete fills in
// the defaults, so that Diff can compare an object of a file with an object of
// a server. Write is the inverse of Read.
//
// The fields are those of the API. Their names, types and limits come from the
// types of package wire, so that a new field of the API needs no code here.
package manifest
