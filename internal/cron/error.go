package cron

import (
	"fmt"
	"strings"
)

const longestQuote = 40 // the maximum number of bytes that an error quotes

// refuse returns an error about an invalid expression, in words for its author: the
// field ("minute", or "expression" for the whole), the invalid text, and the fault
// with the allowed values.
func refuse(field, text, format string, args ...any) error {
	detail := fmt.Sprintf(format, args...)
	if text == "" {
		return fmt.Errorf("%s: %s", field, detail)
	}
	if len(text) > longestQuote {
		text = text[:longestQuote] + "…"
	}
	return fmt.Errorf("%s %q: %s", field, strings.ToValidUTF8(text, "�"), detail)
}
