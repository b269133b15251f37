// Package command reads the arguments of the example servers, as strictly as one would wish: what is not understood is refused.
package command

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

// Parse reads the program's flags, which may be nothing but flags. It ends the program after -h, and with status 2 after whatever it
// refuses, having said why.
func Parse(flags *flag.FlagSet) {
	err := parse(flags, os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		os.Exit(2)
	}
}

// parse prints what it refuses, and how to use the program.
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
