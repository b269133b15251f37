package crontab

import (
	"fmt"
	"strings"
)

// option is an option of a program.
type option struct {
	names string // "-X --request", with a space between
	value bool   // the option has a value
	take  func(b *builder, value string) error
}

// ignored returns options that are accepted and ignored, such as those for output
// and retries.
func ignored(names ...string) (all []option) {
	for _, n := range names {
		name, value := strings.CutSuffix(n, "=")
		all = append(all, option{names: name, value: value})
	}
	return all
}

// refused returns an option that is an error, because it would change the request
// in a way that Foliot cannot. how is the remedy.
func refused(names, how string) option {
	return option{names: names, take: func(*builder, string) error { return fmt.Errorf("%s", how) }}
}

// options are the options of a program by name.
type options map[string]option

func tableOf(lists ...[]option) options {
	all := options{}
	for _, list := range lists {
		for _, o := range list {
			for name := range strings.FieldsSeq(o.names) {
				all[name] = o
			}
		}
	}
	return all
}

// read parses the arguments of a program.
func (b *builder) read(table options, args []string) (err error) {
	for len(args) > 0 && err == nil {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			b.urls = append(b.urls, args...)
			return nil
		case len(arg) < 2 || arg[0] != '-':
			b.urls = append(b.urls, arg)
		default:
			args, err = b.option(table, arg, args)
		}
	}
	return err
}

// option parses an option, or several options of one letter. It returns the
// remaining arguments.
func (b *builder) option(table options, arg string, rest []string) ([]string, error) {
	if table.has(arg) || strings.HasPrefix(arg, "--") {
		return b.long(table, arg, rest)
	}
	return b.short(table, arg[1:], rest)
}

func (t options) has(name string) bool { _, ok := t[name]; return ok }

// long parses an option with a full name. It returns the remaining arguments.
func (b *builder) long(table options, arg string, rest []string) ([]string, error) {
	name, value, given := strings.Cut(arg, "=")
	o, known := table[name]
	switch {
	case !known:
		return nil, b.unknown(name)
	case given && !o.value && o.take == nil:
		return nil, fmt.Errorf("%s takes no value", name)
	case o.value && !given:
		if len(rest) == 0 {
			return nil, fmt.Errorf("%s needs a value", name)
		}
		value, rest = rest[0], rest[1:]
	}
	return rest, b.apply(o, name, value)
}

// short parses options of one letter that are written together. The value of the
// last one may follow in the same word or in the next one.
func (b *builder) short(table options, letters string, rest []string) ([]string, error) {
	for letters != "" {
		name := "-" + letters[:1]
		letters = letters[1:]
		o, known := table[name]
		if !known {
			return nil, b.unknown(name)
		}
		value := ""
		if o.value {
			if letters == "" {
				if len(rest) == 0 {
					return nil, fmt.Errorf("%s needs a value", name)
				}
				letters, rest = rest[0], rest[1:]
			}
			value, letters = letters, ""
		}
		if err := b.apply(o, name, value); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

func (b *builder) apply(o option, name, value string) error {
	if o.take == nil {
		return nil
	}
	if err := o.take(b, value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (b *builder) unknown(name string) error {
	return fmt.Errorf("unknown option %s of %s: omit it, or create the schedule with `foliot cron add`; known options are %s", quote(name), b.program, known[b.program])
}
