// Package page makes the pages of docs/ that show measurements. A page is a
// Markdown template, filled with the values of a run. Its table is a
// list of columns.
package page

import (
	"bytes"
	_ "embed" // for the common parts of the pages
	"fmt"
	"strings"
	"text/template"
)

// NotMeasured replaces an empty table.
const NotMeasured = "*Not measured in this run.*\n"

// common has the templates that all pages use.
//
//go:embed common.md.tmpl
var common string

// Fill fills a template with the values of a run, and wraps its lines.
func Fill(text string, run any) ([]byte, error) {
	t := template.Must(template.New("common").Parse(common))
	if _, err := t.New("page").Parse(text); err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	var out bytes.Buffer
	if err := t.ExecuteTemplate(&out, "page", run); err != nil {
		return nil, fmt.Errorf("fill in the page: %w", err)
	}
	return []byte(wrap(out.String())), nil
}

// Tables returns the tables and the failures of a page, for a terminal. Each
// table has the heading before it.
func Tables(text []byte) string {
	var b strings.Builder
	heading := ""
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "#"):
			heading = "\n" + line + "\n"
		case strings.HasPrefix(line, "|"), strings.HasPrefix(line, "- Failed"):
			b.WriteString(heading + line)
			heading = ""
		case strings.HasSuffix(b.String(), "|\n"):
			b.WriteByte('\n')
		}
	}
	return b.String()
}
