// Package program has the common parts of the measuring programs: their flags,
// the places of their files, and their exit.
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

// Program describes one of them. It runs in the root of the repository.
type Program struct {
	Name    string   // target of make
	Results string   // the published results, a file in bench/results
	Page    string   // the file in docs/ that it writes
	Usage   string   // help text above the flags
	Sources []string // paths of the measured code
	Modules []string // other modules; the page shows their versions
}

// Main calls run and ends the process.
func (p *Program) Main(run func(args []string) error) {
	switch err := run(os.Args[1:]); {
	case err == nil, errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
		os.Exit(1)
	}
}

// AtRoot returns an error if the working directory is not the root of the
// repository: the files would go to the wrong place.
func (p *Program) AtRoot() error {
	data, err := os.ReadFile("go.mod")
	if err != nil || !strings.HasPrefix(string(data), "module github.com/foliot/foliot\n") {
		return errors.New("not in the root of the repository: go there and call make " + p.Name)
	}
	return nil
}

// Head returns the description of a run that starts now.
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

// commit returns the measured commit, and whether the measured files have
// uncommitted changes.
func (p *Program) commit() string {
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	paths := append([]string{"status", "--porcelain", "--", ":!bench/results"}, p.Sources...)
	changed, err := exec.Command("git", paths...).Output() //nolint:gosec // the paths are constants
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
