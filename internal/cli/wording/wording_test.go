package wording

import "testing"

func TestOneThingIsSingular(t *testing.T) {
	for n, want := range map[int]string{0: "0 tasks", 1: "1 task", 2: "2 tasks"} {
		if got := Count(n, "task"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

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
