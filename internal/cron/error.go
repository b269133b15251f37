package cron

import (
	"fmt"
	"strings"
)

// SyntaxError reports an invalid expression, in words for its author.
type SyntaxError struct {
	Field  string // "minute", "day-of-week" …; "expression" for the whole
	Text   string // the invalid text, shortened
	Detail string // the fault, and the allowed values
}

func (e *SyntaxError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%s: %s", e.Field, e.Detail)
	}
	return fmt.Sprintf("%s %q: %s", e.Field, e.Text, e.Detail)
}

const longestQuote = 40 // the maximum number of bytes that an error quotes

func refuse(field, text, format string, args ...any) error {
	if len(text) > longestQuote {
		text = text[:longestQuote] + "…"
	}
	text = strings.ToValidUTF8(text, "�")
	return &SyntaxError{field, text, fmt.Sprintf(format, args...)}
}
