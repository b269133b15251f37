package wording

import "testing"

func TestUntrustedTextCannotMoveTheCursor(t *testing.T) {
	for in, want := range map[string]string{
		"plain":              "plain",
		`{"a": "é 日本"}`:      `{"a": "é 日本"}`,
		"\x1b[2Jgone":        `\x1b[2Jgone`,
		"two\nlines":         `two\nlines`,
		"a \"quote\"\x00":    `a "quote"\x00`,
		"broken \xff":        `broken \xff`,
		"right\u202eto left": `right\u202eto left`,
		"":                   "",
	} {
		if got := Printable(in); got != want {
			t.Errorf("printable(%q) is %q, want %q", in, got, want)
		}
	}
}
