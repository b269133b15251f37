package program

import (
	"flag"
	"fmt"
	"slices"
	"strings"
)

// Settings are the flags that all programs have.
type Settings struct {
	Quick   bool
	Report  bool
	Results string // a file
	Docs    string // a folder
	Whole   bool   // everything is measured, as it is to be published
}

// Flags returns those flags, for a program to add its own. quick says what -quick does.
func (p *Program) Flags(s *Settings, quick string) *flag.FlagSet {
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), p.Usage)
		flags.PrintDefaults()
	}
	flags.BoolVar(&s.Quick, "quick", false, quick)
	flags.BoolVar(&s.Report, "report", false, "measure nothing: write docs again, from the raw results")
	flags.StringVar(&s.Results, "results", "", "the file of the raw results")
	flags.StringVar(&s.Docs, "docs", "", "the folder where "+p.Page+" is written")
	return flags
}

// Parse reads args, of which each must be a flag.
func Parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not a flag; -help shows them", flags.Arg(0))
	}
	return nil
}

// SetDefaults keeps what is only a part away from the published results.
func (p *Program) SetDefaults(s *Settings, whole bool) {
	s.Whole = whole
	results, docs := p.Folder+"/results/latest.json", "docs"
	if !whole {
		results, docs = "bin/"+p.Name+"/latest.json", "bin/"+p.Name
	}
	if s.Results == "" {
		s.Results = results
	}
	if s.Docs == "" {
		s.Docs = docs
	}
}

// Words returns those of a list with commas or spaces between them.
func Words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// Among returns the words of a list in the order of the known ones, or all of these if it has none. flag is for the error of a word that
// is not known.
func Among(flag, list string, known []string) ([]string, error) {
	words := Words(list)
	for _, w := range words {
		if !slices.Contains(known, w) {
			return nil, fmt.Errorf("-%s: there is no %q; there are %s", flag, w, strings.Join(known, ", "))
		}
	}
	if len(words) == 0 {
		return known, nil
	}
	return slices.DeleteFunc(slices.Clone(known), func(w string) bool { return !slices.Contains(words, w) }), nil
}
