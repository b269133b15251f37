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

// wrapper is a program that runs another one.
type wrapper struct {
	options options
	// take parses the arguments between the options and the other program. It
	// returns the words of the other program.
	take func(b *builder, args []string) ([]string, error)
}

// wrappers has the known wrappers. Their settings apply to the call, or a warning
// says that they are ignored.
var wrappers = map[string]wrapper{
	"timeout": {tableOf(timeoutIgnored), (*builder).takeTimeout},
	"flock":   {tableOf(flockOptions, flockIgnored, flockRefused), (*builder).takeFlock},
	"nice":    {tableOf(ignored("-n --adjustment=")), (*builder).takeNice},
	"ionice":  {tableOf(ignored("-c --class=", "-n --classdata=", "-t --ignore")), (*builder).takeNice},
	"nohup":   {nil, (*builder).takeAll},
	"chronic": {tableOf(ignored("-v", "-e")), (*builder).takeAll},
}

var timeoutIgnored = ignored("-k --kill-after=", "-s --signal=", "--preserve-status", "-f --foreground", "-v --verbose")

var flockOptions = []option{
	{"-n --nb --nonblock", false, func(b *builder, _ string) error { b.alone = true; return nil }},
}

var flockIgnored = ignored("-x -e --exclusive", "-o --close", "-F --no-fork", "-E --conflict-exit-code=", "--verbose")

const noQueue = "calls cannot wait for a lock: with -n, a call is skipped while an earlier one is unfinished, " +
	"as with --overlap skip; to let one call wait for the earlier ones, omit flock and pass --overlap buffer_one"

var flockRefused = []option{
	refused("-w --wait --timeout", noQueue),
	refused("-s --shared -u --unlock", "a shared lock does not prevent other calls: omit flock"),
}

// niceNumber matches the form of nice with only a number.
var niceNumber = regexp.MustCompile(`^-[-+]?[0-9]+$`)

// unwrap parses the wrappers, and returns the words of the program that they run.
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
			return nil, fmt.Errorf("there is no command after %s: %s", name, commandForm)
		}
	}
	return words, nil
}

// leading parses the options before the first other word.
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

func (b *builder) takeAll(args []string) ([]string, error) { return args, nil }

func (b *builder) takeNice(args []string) ([]string, error) {
	b.warn("%s is ignored: Foliot runs no program, so there is no priority to change", b.program)
	return args, nil
}

// takeTimeout parses the time limit of the program.
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

// longestPeriod bounds a timeout, in seconds. The longest time of a call is
// checked later.
const longestPeriod = 1e8

// period parses a duration of timeout: a number, and s, m, h or d.
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
		return time.Duration(math.Ceil(seconds*1e3)) * time.Millisecond, nil // only 0 means no limit
	}
	return 0, fmt.Errorf("timeout: invalid duration %s; write 60, 90s or 5m", quote(text))
}

// shorter returns the shorter of two limits. 0 means no limit.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// takeFlock parses the file of the lock.
func (b *builder) takeFlock(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("flock has no file: %s", commandForm)
	}
	if !b.alone {
		return nil, fmt.Errorf("flock without -n waits, and %s", noQueue)
	}
	b.warn("flock -n %s is used as --overlap skip: no call while another call of this line is unfinished or waits for a retry; other lines with the same file are not affected", quote(args[0]))
	args = args[1:]
	if len(args) > 0 && (args[0] == "-c" || args[0] == "--command") {
		if len(args) != 2 {
			return nil, errors.New("flock -c needs one command, in quotes")
		}
		return b.split(args[1])
	}
	return args, nil
}
