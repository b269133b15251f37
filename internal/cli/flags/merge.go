package flags

import (
	"cmp"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/wire/fields"
)

// Merge sets the fields of a struct of the client from the flags of a command that
// have the same names and are given: neither empty nor a nil pointer. more has
// conversions that replace those of this package.
func Merge(settings, command any, more ...fields.Conversion) error {
	to, from := reflect.ValueOf(settings).Elem(), reflect.ValueOf(command).Elem()
	return fields.New(to.Type(), from.Type(), func(to reflect.StructField, from reflect.Type) fields.Copy {
		return fields.Rules(append(more, conversions(flagOf(to.Name))...)...)(to, from)
	}).Merge(to, from)
}

func conversions(flag string) []fields.Conversion {
	return []fields.Conversion{
		fields.Convert(func(n WholeLimit) int { return int(n) }), fields.Convert(func(n WholeLimit) int64 { return int64(n) }),
		fields.Convert(func(n NumberLimit) float64 { return float64(n) }),
		fields.Convert(func(d time.Duration) client.Duration { return client.Duration(d) }),
		fields.Convert(func(url string) client.DeadNotice { return cmp.Or(client.NotifyURL(url), client.NoDeadNotice) }),
		fields.Parse(func(n int) (client.Limit, error) {
			if n < 0 {
				return 0, usage.Errorf(flag, "%d is negative; 0 means no limit", n)
			}
			return cmp.Or(client.Limit(n), client.Unlimited), nil
		}),
		fields.Parse(func(text string) (client.Duration, error) {
			d, err := parseDuration(flag, text)
			return cmp.Or(client.Duration(d), client.Forever), err
		}),
		fields.Parse(func(text string) (time.Duration, error) {
			d, err := parseDuration(flag, text)
			if err == nil && d == 0 && flag != "--jitter" && flag != "--catchup-window" {
				err = usage.Errorf(flag, "%q is too short: pass more than 0s, or omit the flag", text)
			}
			return d, err
		}),
	}
}

var wordStart = regexp.MustCompile("([a-z])([A-Z])")

func flagOf(name string) string {
	return "--" + strings.ToLower(wordStart.ReplaceAllString(name, "$1-$2"))
}
