package flags

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/usage"
)

// notDuration is the error for a value that is not a duration.
const notDuration = "invalid duration %q; write 500ms, 20s or 1m30s (no spaces; the units are d, h, m, s and ms)"

// Readers parse the values of flags, variables and configuration keys. The
// parsers of kong are not used, because their errors name types of Go.
var Readers = []kong.Option{
	kong.TypeMapper(reflect.TypeFor[time.Duration](), reader(readDuration)),
	kong.TypeMapper(reflect.TypeFor[config.ShardCount](), reader(readShards)),
	kong.TypeMapper(reflect.TypeFor[WholeLimit](), reader(readLimit(readWhole))),
	kong.TypeMapper(reflect.TypeFor[NumberLimit](), reader(readLimit(readNumber))),
	kong.KindMapper(reflect.Int, reader(readWhole)),
	kong.KindMapper(reflect.Int64, reader(readWhole)),
}

// reader returns a mapper that passes the text of a value to read.
func reader(read func(text string, flag *kong.Flag, into reflect.Value) error) kong.Mapper {
	return kong.MapperFunc(func(ctx *kong.DecodeContext, into reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("value", &text); err != nil {
			return err
		}
		return read(text, ctx.Value.Flag, into)
	})
}

func readDuration(text string, _ *kong.Flag, into reflect.Value) error {
	d, err := timespan.Parse(text)
	if err != nil {
		return fmt.Errorf(notDuration, text)
	}
	into.SetInt(int64(d))
	return nil
}

func readWhole(text string, flag *kong.Flag, into reflect.Value) error {
	n, err := strconv.ParseInt(text, 10, into.Type().Bits())
	if digits := strings.TrimLeft(text, "+-"); len(digits) > 1 && digits[0] == '0' { // some read it as octal
		err = strconv.ErrSyntax
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("the number %s is too large", text)
	case err != nil && flag != nil && flag.PlaceHolder == "BYTES":
		return fmt.Errorf("%q is not a number of bytes; write it without a unit, such as 262144 for 256 KiB", text)
	case err != nil:
		return fmt.Errorf("%q is not a whole number, such as 1000", text)
	}
	into.SetInt(n)
	return nil
}

// Unlimited is the value of a flag that removes a limit.
const Unlimited = "unlimited"

// WholeLimit and NumberLimit are limits. The value 0 means no limit, and the
// command line calls it unlimited. A 0 on the command line is refused: a script
// that computes 0 does not mean "no limit".
type (
	WholeLimit  int64
	NumberLimit float64
)

// readLimit returns a reader of limits that parses numbers with read.
func readLimit(read func(string, *kong.Flag, reflect.Value) error) func(string, *kong.Flag, reflect.Value) error {
	return func(text string, flag *kong.Flag, into reflect.Value) error {
		if text == Unlimited {
			into.SetZero()
			return nil
		}
		err := read(text, flag, into)
		if err == nil && into.IsZero() {
			err = fmt.Errorf("%s is not a limit: write %s to remove the limit; to stop a queue, pause it; to stop a namespace, suspend it", text, Unlimited)
		}
		return err
	}
}

func readShards(text string, flag *kong.Flag, into reflect.Value) error {
	err := readWhole(text, flag, into)
	if n := into.Int(); err == nil && (n < 1 || n > config.MaxShards) {
		return fmt.Errorf("%d is not between 1 and %d", n, config.MaxShards)
	}
	return err
}

func readNumber(text string, _ *kong.Flag, into reflect.Value) error {
	f, err := strconv.ParseFloat(text, into.Type().Bits())
	if err != nil {
		return fmt.Errorf("%q is not a number, such as 0.5", text)
	}
	into.SetFloat(f)
	return nil
}

// CheckName refuses a name that no record of that kind can have, for commands that
// send it to no server, or send it late. An error names place, the flag or argument
// of the name.
func CheckName(place, kind, name string) error {
	if field, ok := errors.AsType[*task.FieldError](task.ValidateName(kind, name)); ok {
		return usage.Errorf(place, "%q: %s", name, field.Detail)
	}
	return nil
}
