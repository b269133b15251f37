package crontab

import (
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
		`http://a.example/?q=1#frag x=y {a,b} !x a~b`,
		`a 2>/dev/null b >/dev/null 2>&1 c`,
		`a2>/dev/null 3`,
		`""`,
	} {
		out, err := exec.CommandContext(t.Context(), sh, "-c", `p() { printf '<%s>\n' "$@" >&3; }; exec 3>&1; p `+line).Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		c, err := split(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		var got strings.Builder
		for _, w := range c.words {
			got.WriteString("<" + w + ">\n")
		}
		if diff := cmp.Diff(string(out), got.String()); diff != "" {
			t.Errorf("%s (-sh +split):\n%s", line, diff)
		}
	}
}

func TestRedirectedOutputIsIgnored(t *testing.T) {
	for line, want := range map[string]string{
		"curl u >/dev/null 2>&1":   "curl u",
		"curl u &>/dev/null":       "curl u",
		"curl u &>> log":           "curl u | log",
		"curl u >>'my log' 2>&1":   "curl u | my log",
		"curl u >| x 2>>y 2>&-":    "curl u | x y",
		"curl >/dev/null u 1>&2 v": "curl u v",
		"curl u >& log":            "curl u | log",
		"curl u 2>& 1":             "curl u",
	} {
		c, err := split(line)
		got := strings.Join(c.words, " ")
		if len(c.files) > 0 {
			got += " | " + strings.Join(c.files, " ")
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, want %q; %v", line, got, want, err)
		}
	}
}
