package crontab

import (
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// wrapper is a program that runs the one behind it.
type wrapper struct {
	options options
	// take takes in what stands between the options and the program behind, and returns that one's words.
	take func(b *builder, args []string) ([]string, error)
}

// wrappers are those that are known: what they say of a call is taken, or its
// loss is noted.
var wrappers = map[string]wrapper{
	"timeout": {tableOf(timeoutNothing), (*builder).takeTimeout},
	"flock":   {tableOf(flockOptions, flockNothing, flockRefused), (*builder).takeFlock},
	"nice":    {tableOf(nothing("-n --adjustment=")), (*builder).takeNice},
	"ionice":  {tableOf(nothing("-c --class=", "-n --classdata=", "-t --ignore")), (*builder).takeNice},
	"nohup":   {nil, (*builder).takeNothing},
	"chronic": {tableOf(nothing("-v", "-e")), (*builder).takeNothing},
}

var timeoutNothing = nothing("-k --kill-after=", "-s --signal=", "--preserve-status", "-f --foreground", "-v --verbose")

var flockOptions = []option{
	{"-n --nb --nonblock", false, func(b *builder, _ string) error { b.alone = true; return nil }},
}

var flockNothing = nothing("-x -e --exclusive", "-o --close", "-F --no-fork", "-E --conflict-exit-code=", "--verbose")

const noQueue = "nothing waits in a row for a lock here: with -n the call is left out while one before it is unfinished, " +
	"as --overlap skip has it; what comes nearest to waiting is --overlap buffer_one, without flock: one call waits for the end of those before"

var flockRefused = []option{
	refused("-w --wait --timeout", noQueue),
	refused("-s --shared -u --unlock", "a lock that others may share keeps nothing apart: leave flock out"),
}

// niceNumber is how nice takes a number by itself.
var niceNumber = regexp.MustCompile(`^-[-+]?[0-9]+$`)

// unwrap takes the programs off that run another one, and returns the words of that.
func (b *builder) unwrap(words []string) ([]string, error) {
	for len(words) > 0 {
		name := path.Base(words[0])
		w, ok := wrappers[name]
		if !ok || isURL(words[0]) {
			return words, nil
		}
		b.program = name
		args, err := b.leading(w.options, words[1:])
		if err != nil {
			return nil, err
		}
		if words, err = w.take(b, args); err != nil {
			return nil, err
		}
		if len(words) == 0 {
			return nil, fmt.Errorf("there is no command behind %s: %s", name, takes)
		}
	}
	return words, nil
}

// leading takes in the options before the first word that is none.
func (b *builder) leading(table options, args []string) ([]string, error) {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		arg := args[0]
		args = args[1:]
		var err error
		switch {
		case arg == "--":
			return args, nil
		case b.program == "nice" && niceNumber.MatchString(arg):
		default:
			args, err = b.option(table, arg, args)
		}
		if err != nil {
			return nil, err
		}
	}
	return args, nil
}

func (b *builder) takeNothing(args []string) ([]string, error) { return args, nil }

func (b *builder) takeNice(args []string) ([]string, error) {
	b.warn("%s is left out: no program runs here that could give way to others", b.program)
	return args, nil
}

// takeTimeout reads how long the program may take.
func (b *builder) takeTimeout(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	d, err := period(args[0])
	if err != nil {
		return nil, err
	}
	b.limit = shorter(b.limit, d)
	return args[1:], nil
}

// longestPeriod is that of a timeout, in seconds. More is said of it where it is known what a call may take.
const longestPeriod = 1e8

// period reads a duration as timeout has it: a number, and s, m, h or d.
func period(text string) (time.Duration, error) {
	number, unit := text, 1.0
	for _, u := range []struct {
		name    string
		seconds float64
	}{{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 24 * 3600}} {
		if before, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = before, u.seconds
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if seconds := n * unit; err == nil && seconds >= 0 && seconds <= longestPeriod {
		return time.Duration(math.Ceil(seconds*1e3)) * time.Millisecond, nil // 0 alone is no limit
	}
	return 0, fmt.Errorf("timeout: %s is no duration, such as 60, 90s or 5m", quote(text))
}

// shorter returns the shorter of two limits, 0 being none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// takeFlock reads the file of the lock.
func (b *builder) takeFlock(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("flock has no file: %s", takes)
	}
	if !b.alone {
		return nil, fmt.Errorf("flock waits without -n, and %s", noQueue)
	}
	b.warn("flock -n %s is taken as --overlap skip: no call while one of this line is unfinished, be it that it waits for a retry; other lines that take the file are not kept apart", quote(args[0]))
	args = args[1:]
	if len(args) > 0 && (args[0] == "-c" || args[0] == "--command") {
		if len(args) != 2 {
			return nil, errors.New("behind flock -c stands one command, in quotes")
		}
		return b.split(args[1])
	}
	return args, nil
}
