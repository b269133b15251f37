package cli

import (
	"strings"
	"testing"
)

// A wrong value is told in the same words wherever it stands: on the command
// line, in a variable, in a file.
func TestAWrongValueIsToldInTheSameWordsEverywhere(t *testing.T) {
	for _, c := range []struct{ flag, value, says string }{
		{"grace", "20 s", `"20 s" is no duration; write 500ms, 20s or 1m30s (no spaces, and the longest unit is h)`},
		{"grace", "20", `"20" is no duration; write`},
		{"body-limit", "256k", `"256k" is no number of bytes; write all of it, such as 262144 for 256 KiB`},
		{"concurrency", "many", `"many" is no whole number, such as 1000`},
		{"concurrency", "9999999999999999999", "9999999999999999999 is too large a number"},
		{"shards", "0", "0 does not lie between 1 and 4096"},
		{"shards", "4097", "4097 does not lie between 1 and 4096"},
		{"shards", "some", `"some" is no whole number, such as 1000`},
		{"trace-sample", "half", `"half" is no number, such as 0.5`},
		{"metrics", "maybe", `"maybe" is neither true nor false`},
		{"log-level", "loud", `"loud" is none of debug, info, warn, error`},
	} {
		said := func(where, place string, errs string, code int) {
			t.Helper()
			if code != exitUsage || !strings.HasPrefix(errs, "foliot: "+place+": "+c.says) || !strings.Contains(errs, where) {
				t.Errorf("%s %q: exit code %d, %q", c.flag, c.value, code, errs)
			}
		}
		_, errs, code := newSession(t).runBare("config", "--"+c.flag+"="+c.value)
		said("; see `foliot config --help`", "--"+c.flag, errs, code)
		_, errs, code = configure(t, c.flag+": "+c.value+"\n")
		said("", "foliot.yaml:1: "+c.flag, errs, code)
		t.Run(c.flag, func(t *testing.T) {
			name := "FOLIOT_" + strings.ToUpper(strings.ReplaceAll(c.flag, "-", "_"))
			t.Setenv(name, c.value)
			_, errs, code = newSession(t).runBare("config")
			said(" (environment "+name+")", "--"+c.flag, errs, code)
		})
	}
}

func TestWhatHasNoValueIsTold(t *testing.T) {
	for line, says := range map[string]string{
		"config --grace":                   "foliot: --grace: it needs a value; see",
		"config --listen":                  "foliot: --listen: it needs a value; see",
		"completion tcsh":                  `foliot: <shell>: "tcsh" is none of bash, zsh, fish; see`,
		"-o yaml ls":                       `foliot: --output: "yaml" is none of text, json; see`,
		"queue set m --rate x":             `foliot: --rate: "x" is no number, such as 0.5; see`,
		"queue set m --min-backoff 1":      `foliot: --min-backoff: "1" is no duration; write`,
		"namespace set m --max-bytes 1G":   `foliot: --max-bytes: "1G" is no number of bytes; write`,
		"namespace set m --max-pending 1M": `foliot: --max-pending: "1M" is no whole number, such as 1000; see`,
	} {
		_, errs, code := newSession(t).runBare(strings.Fields(line)...)
		if code != exitUsage || !strings.HasPrefix(errs, says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("foliot %s: exit code %d, %q", line, code, errs)
		}
	}
}
