package console

import (
	"os"
	"strings"
)

// Escape sequences of terminals that begin and end a color.
const (
	red, green, yellow, cyan, gray = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[90m"
	noColor                        = "\x1b[0m"
)

// stateColors are the colors of the states of tasks and of the outcomes of
// attempts. Other words have none.
var stateColors = map[string]string{
	"running": cyan, "delivered": green, "dead": red, "failed": red, "refused": red,
	"expired": yellow, "held": yellow, "snoozed": yellow, "interrupted": yellow, "lost_lease": yellow, "cancelled": gray,
}

func colorOf(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return stateColors[strings.TrimSuffix(word, ",")]
}

// wantsColor reports whether the environment allows colors. See
// https://no-color.org.
func wantsColor() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }
