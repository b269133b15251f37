// Package program is the frame of the programs that measure: what make calls them, their flags, where their files go, and their end.
package program

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/bench/record"
)

// Program is one of them. It is run from the root of the repository.
type Program struct {
	Name    string   // what make calls it
	Folder  string   // below it lie the results that are published
	Page    string   // the file of docs/ that it writes
	Usage   string   // what stands above the flags
	Sources []string // the paths whose changes make it measure something else
	Modules []string // from elsewhere, whose versions matter
}

// Main runs it and ends the process.
func (p *Program) Main(run func(args []string) error) {
	switch err := run(os.Args[1:]); {
	case err == nil, errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
		os.Exit(1)
	}
}

// AtRoot fails where the files would be written to the wrong place.
func (p *Program) AtRoot() error {
	data, err := os.ReadFile("go.mod")
	if err != nil || !strings.HasPrefix(string(data), "module github.com/foliot/foliot\n") {
		return errors.New("this is not the root of the repository; there, call: make " + p.Name)
	}
	return nil
}

// Head is what a run that begins now says of itself.
func (p *Program) Head(args []string) record.Head {
	return record.Head{
		Started: time.Now().UTC().Truncate(time.Second),
		Command: p.command(args),
		Commit:  p.commit(),
		Go:      runtime.Version(),
		Modules: p.versions(),
		Machine: record.ThisMachine(),
	}
}

func (p *Program) command(args []string) string {
	if len(args) == 0 {
		return "make " + p.Name
	}
	return fmt.Sprintf("make %s ARGS='%s'", p.Name, strings.Join(args, " "))
}

// commit names what is measured, and whether the working tree differs from it where it matters.
func (p *Program) commit() string {
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	paths := append([]string{"status", "--porcelain", "--", ":!" + p.Folder + "/results"}, p.Sources...)
	changed, err := exec.Command("git", paths...).Output() //nolint:gosec // paths of the program's own
	if err != nil || len(changed) > 0 {
		name += ", with changes"
	}
	return name
}

func (p *Program) versions() map[string]string {
	versions := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versions
	}
	for _, m := range info.Deps {
		if slices.Contains(p.Modules, m.Path) {
			versions[m.Path] = m.Version
		}
	}
	return versions
}
