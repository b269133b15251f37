// Package page writes the pages of docs/ that show measurements.
package page

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/template"
)

// NotMeasured replaces an empty table.
const NotMeasured = "*Not measured in this run.*\n"

// Fill fills a template with the values of a run.
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

// Write fills a template with the values of a run, and writes the page to path.
func Write(path, text string, run any) error {
	filled, err := Fill(text, run)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, filled, 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Section is a titled table.
type Section struct{ What, Text string }

// Sections formats tables for a terminal.
func Sections(list []Section) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s\n\n%s\n", s.What, s.Text)
	}
	return b.String()
}

// Failures formats a list of failures.
func Failures(list []string) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "- Failed: %s\n", f)
	}
	if b.Len() == 0 {
		return "Nothing failed.\n"
	}
	return b.String()
}

// Failed returns an error with the number of failed measurements, or nil for
// none.
func Failed(n int) error {
	if n == 0 {
		return nil
	}
	return errors.New(Plural(n, "measurement") + " failed")
}

// Title returns the title, in bold if it is Foliot's.
func Title(title string, ours bool) string {
	if ours {
		return "**" + title + "**"
	}
	return title
}
