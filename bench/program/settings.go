package program

import (
	"flag"
	"fmt"
	"slices"
	"strings"
)

// Settings has the values of the flags of all programs.
type Settings struct {
	Quick   bool
	Report  bool
	Results string // a file
	Docs    string // a folder
	Whole   bool   // everything is measured and published
}

// Flags returns the common flags. The program adds its own. quick describes the
// flag -quick.
func (p *Program) Flags(s *Settings, quick string) *flag.FlagSet {
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), p.Usage)
		flags.PrintDefaults()
	}
	flags.BoolVar(&s.Quick, "quick", false, quick)
	flags.BoolVar(&s.Report, "report", false, "measure nothing: write the page again from the raw results")
	flags.StringVar(&s.Results, "results", "", "the file of the raw results")
	flags.StringVar(&s.Docs, "docs", "", "the folder of "+p.Page)
	return flags
}

// Parse parses args. It returns an error if an argument is not a flag.
func Parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not a flag; -help shows all flags", flags.Arg(0))
	}
	return nil
}

// SetDefaults sets the paths that were not given. The results of a partial run
// go to bin/, so that they do not replace the published ones.
func (p *Program) SetDefaults(s *Settings, whole bool) {
	s.Whole = whole
	results, docs := "bench/results/"+p.Results, "docs"
	if !whole {
		results, docs = "bin/"+p.Name+"/"+p.Results, "bin/"+p.Name
	}
	if s.Results == "" {
		s.Results = results
	}
	if s.Docs == "" {
		s.Docs = docs
	}
}

// Words splits a list at commas and spaces.
func Words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// Among returns the words of a list in the order of known. For an empty list it
// returns all of known. If a word is not known, it returns an error that names
// the flag.
func Among(flag, list string, known []string) ([]string, error) {
	words := Words(list)
	for _, w := range words {
		if !slices.Contains(known, w) {
			return nil, fmt.Errorf("-%s: there is no %q: use %s", flag, w, strings.Join(known, ", "))
		}
	}
	if len(words) == 0 {
		return known, nil
	}
	return slices.DeleteFunc(slices.Clone(known), func(w string) bool { return !slices.Contains(words, w) }), nil
}
