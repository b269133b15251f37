package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// confirm asks a person; anything but yes is no. Where nobody can be asked it
// is an error that says so.
func (c *console) confirm(question string, args ...any) error {
	in, ok := c.in.(*os.File)
	if !ok || !c.errTerm || !term.IsTerminal(int(in.Fd())) {
		return badInput("--yes", "nobody can be asked here: %s Pass --yes if that is what you want", fmt.Sprintf(question, args...))
	}
	fmt.Fprint(c.err, printable(fmt.Sprintf(question, args...))+" [y/N] ")
	line, _ := bufio.NewReader(in).ReadString('\n') // the end of the input is a no
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return &fault{exitInterrupted, errors.New("nothing was done")}
}
