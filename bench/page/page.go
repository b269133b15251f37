// Package page writes the pages of docs/ that show what was measured.
package page

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
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

// Write fills a template in with a run, and writes that to path.
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

// Section is a table of a page.
type Section struct{ What, Text string }

// Sections are tables without a page around them.
func Sections(list []Section) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s\n\n%s\n", s.What, s.Text)
	}
	return b.String()
}

// Failures lists what went wrong.
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

// Failed returns an error where so many measurements failed; nil for none.
func Failed(n int) error {
	if n == 0 {
		return nil
	}
	return errors.New(Plural(n, "measurement") + " failed")
}

// Title marks what is ours.
func Title(title string, ours bool) string {
	if ours {
		return "**" + title + "**"
	}
	return title
}
