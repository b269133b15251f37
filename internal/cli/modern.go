package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// renamed has the commands of earlier builds, and the words of today before and
// after their arguments.
var renamed = map[string][2]string{
	"cron pause":  {"cron set", "--paused"},
	"cron resume": {"cron set", "--no-paused"},
	"run":         {"move", "--now"},
	"version":     {"--version", ""},
}

// ignored has the flags of serve in earlier builds that a server may ignore.
var ignored = []string{"breaker-failures", "lease", "trace-sample"}

// modern returns a command line of an earlier build in the words of today, so that
// scripts go on. It writes a note for each flag of serve that has no effect any
// more.
func modern(args []string, notes io.Writer) []string {
	for words := min(len(args), 2); words > 0; words-- {
		if now, ok := renamed[strings.Join(args[:words], " ")]; ok {
			return slices.Concat(strings.Fields(now[0]), args[words:], strings.Fields(now[1]))
		}
	}
	if len(args) == 0 || args[0] != "serve" {
		return args
	}
	kept := args[:1:1]
	for i := 1; i < len(args); i++ {
		name, flag := strings.CutPrefix(args[i], "--")
		name, _, given := strings.Cut(name, "=")
		if !flag || !slices.Contains(ignored, name) {
			kept = append(kept, args[i])
			continue
		}
		if !given {
			i++ // its value
		}
		fmt.Fprintf(notes, "foliot: --%s has no effect: delete it\n", name)
	}
	return kept
}
