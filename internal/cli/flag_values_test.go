package cli

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
)

// The error for an invalid value is the same on the command line, in a variable
// and in a file.
func TestAnInvalidValueHasTheSameErrorEverywhere(t *testing.T) {
	for _, c := range []struct{ flag, value, says string }{
		{"grace", "20 s", `invalid duration "20 s"; write 500ms, 20s or 1m30s (no spaces; the units are d, h, m, s and ms)`},
		{"grace", "20", `invalid duration "20"; write`},
		{"body-limit", "256k", `"256k" is not a number of bytes; write it without a unit, such as 262144 for 256 KiB`},
		{"concurrency", "many", `"many" is not a whole number, such as 1000`},
		{"concurrency", "010", `"010" is not a whole number, such as 1000`},
		{"concurrency", "0x10", `"0x10" is not a whole number, such as 1000`},
		{"concurrency", "9999999999999999999", "the number 9999999999999999999 is too large"},
		{"shards", "0", "0 is not between 1 and 4096"},
		{"shards", "4097", "4097 is not between 1 and 4096"},
		{"shards", "some", `"some" is not a whole number, such as 1000`},
		{"log-changes", "maybe", `"maybe" is neither true nor false`},
		{"log-level", "loud", `"loud" is not one of debug, info, warn, error`},
	} {
		check := func(where, place string, errs string, code int) {
			t.Helper()
			if code != exit.Usage || !strings.HasPrefix(errs, "foliot: "+place+": "+c.says) || !strings.Contains(errs, where) {
				t.Errorf("%s %q: exit code %d, %q", c.flag, c.value, code, errs)
			}
		}
		_, errs, code := newSession(t).runBare("config", "--"+c.flag+"="+c.value)
		check("; see `foliot config --help`", "--"+c.flag, errs, code)
		_, errs, code = configure(t, c.flag+": "+c.value+"\n")
		check("", "foliot.yaml:1: "+c.flag, errs, code)
		t.Run(c.flag, func(t *testing.T) {
			name := "FOLIOT_" + strings.ToUpper(strings.ReplaceAll(c.flag, "-", "_"))
			t.Setenv(name, c.value)
			_, errs, code = newSession(t).runBare("config")
			check(" (environment "+name+")", "--"+c.flag, errs, code)
		})
	}
}

func TestAMissingValueIsReported(t *testing.T) {
	for line, says := range map[string]string{
		"config --grace":                   "foliot: --grace: a value is missing; see",
		"config --listen":                  "foliot: --listen: a value is missing; see",
		"completion tcsh":                  `foliot: <shell>: "tcsh" is not one of bash, zsh, fish; see`,
		"-o yaml ls":                       `foliot: --output: "yaml" is not one of text, json; see`,
		"queue set m --rate x":             `foliot: --rate: "x" is not a number, such as 0.5; see`,
		"queue set m --min-backoff 1":      `foliot: --min-backoff: invalid duration "1"; write`,
		"namespace set m --max-bytes 1G":   `foliot: --max-bytes: "1G" is not a number of bytes; write`,
		"namespace set m --max-pending 1M": `foliot: --max-pending: "1M" is not a whole number, such as 1000; see`,
	} {
		_, errs, code := newSession(t).runBare(strings.Fields(line)...)
		if code != exit.Usage || !strings.HasPrefix(errs, says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("foliot %s: exit code %d, %q", line, code, errs)
		}
	}
}
