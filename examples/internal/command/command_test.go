package command

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestWhatIsNotUnderstoodIsRefusedOnceAndExplained(t *testing.T) {
	for args, said := range map[string]string{
		"":                   "",
		"-idle 5s":           "",
		"-h":                 "",
		"-idle 5s 7007":      "an argument that is no flag",
		"-idle=-5s":          "a time below zero: -idle -5s",
		"-idle 5":            "invalid value",
		"-iddle 5s":          "flag provided but not defined",
		"-count -1 -idle 1s": "",
	} {
		var out strings.Builder
		flags := flag.NewFlagSet("test", flag.ExitOnError)
		flags.SetOutput(&out)
		flags.Usage = func() { fmt.Fprintln(&out, "usage") }
		flags.Duration("idle", time.Minute, "")
		flags.Int("count", 0, "")
		err := parse(flags, strings.Fields(args))
		if refused := err != nil && !errors.Is(err, flag.ErrHelp); refused != (said != "") {
			t.Errorf("%q: %v", args, err)
		}
		if said != "" && (strings.Count(out.String(), said) != 1 || !strings.Contains(out.String(), "usage")) {
			t.Errorf("%q is answered by %q", args, out.String())
		}
	}
}
