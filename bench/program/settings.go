package program

import (
	"flag"
	"fmt"
	"slices"
	"strings"
)

// Settings has the values of the flags.
type Settings struct {
	Quick      bool
	Report     bool
	Results    string   // a file
	Docs       string   // a folder
	Contenders []string // the names of those to measure
	Parts      []string // those to measure

	whole bool // everything is measured and published
}

// Wants reports whether a part is measured.
func (s *Settings) Wants(part string) bool { return slices.Contains(s.Parts, part) }

// parse returns the settings. The results of a partial run go to bin/, so that
// they do not replace the published ones.
func (p *Program) parse(args []string) (*Settings, error) {
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), `usage: make %[1]s [ARGS='flags']      (from the root of the repository)

%[2]s

  all measurements  bench/results/%[3]s, docs/%[4]s    about %[5]s
  some of them      the same files below bin/%[1]s/; their paths are printed

Run nothing else on the machine at the same time. Flags:

`, p.Name, p.What, p.Results, p.Page, p.Took)
		flags.PrintDefaults()
	}
	var names []string
	for _, c := range p.Contenders {
		names = append(names, c.Name)
	}
	var s Settings
	var contenders, parts string
	flags.BoolVar(&s.Quick, "quick", false, "measure little, to check that everything works")
	flags.BoolVar(&s.Report, "report", false, "measure nothing: write the page again from the raw results")
	flags.StringVar(&s.Results, "results", "", "the file of the raw results")
	flags.StringVar(&s.Docs, "docs", "", "the folder of "+p.Page)
	flags.StringVar(&contenders, "contender", "", "measure only these, separated by commas: "+strings.Join(names, ", "))
	flags.StringVar(&parts, "part", "", "run only these parts, separated by commas: "+strings.Join(p.Parts, ", "))
	err := flags.Parse(args)
	if err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag; -help shows all flags", flags.Arg(0))
	}
	if s.Contenders, err = among("contender", contenders, names); err != nil {
		return nil, err
	}
	if s.Parts, err = among("part", parts, p.Parts); err != nil {
		return nil, err
	}
	s.whole = !s.Quick && len(s.Contenders) == len(names) && len(s.Parts) == len(p.Parts)
	results, docs := "bench/results/"+p.Results, "docs"
	if !s.whole {
		results, docs = "bin/"+p.Name+"/"+p.Results, "bin/"+p.Name
	}
	if s.Results == "" {
		s.Results = results
	}
	if s.Docs == "" {
		s.Docs = docs
	}
	return &s, nil
}

// among returns the words of a list in the order of known. For an empty list it
// returns all of known. If a word is not known, it returns an error that names
// the flag.
func among(flag, list string, known []string) ([]string, error) {
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
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
