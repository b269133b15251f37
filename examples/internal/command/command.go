// Package command reads the arguments of the example servers strictly: it
// refuses unknown arguments.
package command

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

// Parse reads the program's flags, and allows no other arguments. It ends the
// program after -h. If it refuses an argument, it prints the reason and ends
// the program with status 2.
func Parse(flags *flag.FlagSet) {
	err := parse(flags, os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		os.Exit(2)
	}
}

// parse prints the refused argument and the usage of the program.
func parse(flags *flag.FlagSet, args []string) error {
	flags.Init(flags.Name(), flag.ContinueOnError)
	if err := flags.Parse(args); err != nil {
		return err // Parse has printed it
	}
	err := check(flags)
	if err != nil {
		fmt.Fprintln(flags.Output(), err)
		flags.Usage()
	}
	return err
}

func check(flags *flag.FlagSet) (err error) {
	if flags.NArg() > 0 {
		return fmt.Errorf("an argument that is no flag: %q", flags.Arg(0))
	}
	flags.VisitAll(func(f *flag.Flag) {
		if d, ok := f.Value.(flag.Getter).Get().(time.Duration); ok && d < 0 {
			err = fmt.Errorf("a time below zero: -%s %v", f.Name, d)
		}
	})
	return err
}
