// Package console is the input and output of a command: results as text, tables
// or JSON, notes, progress and questions.
package console
