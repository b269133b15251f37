// Package manifest reads and writes files with the objects of foliot apply:
// namespaces, queues and schedules as YAML.
//
// Read turns YAML into the JSON of the API. A value that parsers of YAML read
// differently is an error with its file and line. Package api then checks the JSON
// as a server does. Complete fills in the defaults, so that Diff can compare an
// object of a file with an object of a server. Write is the inverse of Read.
package manifest
