// Command bench measures Foliot next to other libraries, and writes the pages
// of docs/ with the results. Run it from the root of the repository: `make
// bench`, `make bench-idle` and so on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are the arguments.
type settings struct {
	page          *page
	quick, report bool
}

func parse(args []string) (*settings, error) {
	names := make([]string, len(pages))
	for i := range pages {
		names[i] = pages[i].name
	}
	if len(args) == 0 || !slices.Contains(names, args[0]) {
		return nil, fmt.Errorf("the first argument must be one of %s", strings.Join(names, ", "))
	}
	s := &settings{page: &pages[slices.Index(names, args[0])]}
	flags := flag.NewFlagSet("bench "+s.page.name, flag.ContinueOnError)
	flags.BoolVar(&s.quick, "quick", false, "measure little, to check that everything works")
	flags.BoolVar(&s.report, "report", false, "measure nothing: write the page again from the results")
	if err := flags.Parse(args[1:]); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag; -help shows all flags", flags.Arg(0))
	}
	return s, nil
}

// run measures, and writes the results and the page. Those of a quick or
// interrupted run go to bin/, so that they do not replace the published ones.
func run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if text, err := os.ReadFile("go.mod"); err != nil || !strings.HasPrefix(string(text), "module github.com/foliot/foliot\n") {
		return errors.New("not in the root of the repository: go there and use make")
	}
	published, docs := filepath.Join("bench", "results", s.page.name+".txt"), "docs"
	if s.report {
		return publish(s.page, published, docs)
	}
	partial := filepath.Join("bin", "bench")
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return err
	}
	results := filepath.Join(partial, s.page.name+".txt")
	failed, err := measure(ctx, s, strings.Join(args[1:], " "), results)
	if err != nil {
		return fmt.Errorf("%w: the results so far are in %s", err, results)
	}
	if s.quick {
		published, docs = results, partial
	} else if err := os.Rename(results, published); err != nil {
		return err
	}
	if err := publish(s.page, published, docs); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d measurements failed", failed)
	}
	return nil
}

// publish writes the page of results into the folder docs, and prints its
// table.
func publish(p *page, results, docs string) error {
	text, err := os.ReadFile(results)
	if err != nil {
		return err
	}
	r := read(string(text))
	made, err := p.fill(r)
	if err != nil {
		return err
	}
	path := filepath.Join(docs, p.doc)
	if err := os.WriteFile(path, made, 0o644); err != nil {
		return err
	}
	fmt.Println(table(p.rows, p.columns, r))
	fmt.Fprintf(os.Stderr, "results: %s\npage: %s\n", results, path)
	return nil
}
