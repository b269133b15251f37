// Package page writes the pages of docs/ that show what was measured.
package page

import (
	"bytes"
	"fmt"
	"text/template"
)

// NotMeasured stands where a table would be empty.
const NotMeasured = "*Not measured in this run.*\n"

// Fill fills a template in with a run.
func Fill(text string, run any) ([]byte, error) {
	t, err := template.New("page").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, run); err != nil {
		return nil, fmt.Errorf("fill in the page: %w", err)
	}
	return out.Bytes(), nil
}

// Title marks what is ours.
func Title(title string, ours bool) string {
	if ours {
		return "**" + title + "**"
	}
	return title
}
