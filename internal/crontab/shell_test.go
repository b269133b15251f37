package crontab

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The test compares the words with those of a real shell.
func TestWordsAreSplitAsByAShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	for _, line := range []string{
		`a b	c`,
		`'it''s' "a \"b\" \\ \x \$ c"  d\ e\'f`,
		`-d'{"a": "b\n"}' "it's" ''`,
		`a#b "#" \# # a comment ' with a quote`,
		`http://a.example/~me/[1]?q=1#frag x=y !x`,
		`a 2>/dev/null b >/dev/null 2>&1`,
		`""`,
	} {
		out, err := exec.CommandContext(t.Context(), sh, "-c", `p() { printf '<%s>\n' "$@" >&3; }; exec 3>&1; p `+line).Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		words, _, err := split(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		var got strings.Builder
		for _, w := range words {
			got.WriteString("<" + w + ">\n")
		}
		if diff := cmp.Diff(string(out), got.String()); diff != "" {
			t.Errorf("%s (-sh +split):\n%s", line, diff)
		}
	}
}

func TestRedirectedOutputIsIgnored(t *testing.T) {
	for line, want := range map[string]string{
		"curl u >/dev/null 2>&1":   "curl u [/dev/null ]",
		"curl u &>/dev/null":       "curl u [/dev/null]",
		"curl u >> a/b.log 2>> c":  "curl u [a/b.log c]",
		"curl >/dev/null u 1>&2 v": "curl u v [/dev/null ]",
		"curl u '>x' 3\\>y":        "curl u >x 3>y []",
	} {
		words, files, err := split(line)
		if got := fmt.Sprint(strings.Join(words, " "), " ", files); err != nil || got != want {
			t.Errorf("%s: %q, want %q; %v", line, got, want, err)
		}
	}
}
