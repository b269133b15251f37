package prose

import (
	"slices"
	"strings"
	"testing"
)

const glossary = `# Words
| Word | Meaning | Package | Banned |
|---|:---:|---|---|
| batch | Writes that leave together. | ` + "`a`" + ` | ` + "`flight`, `line`" + ` |
| shard | A part. | ` + "`a`, `b/c`" + ` | |
| namespace | A part too. | everywhere | ` + "`tenant`, `RunNow`, `linger.go`, `a.Queue`" + ` |

| Other | table |
|---|---|
| x | y |
`

func entries(t *testing.T) []Entry {
	t.Helper()
	all, err := ParseGlossary(glossary)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheGlossaryIsRead(t *testing.T) {
	all := entries(t)
	if len(all) != 3 || all[0].Word != "batch" || all[0].Line != 4 || !slices.Equal(all[1].Packages, []string{"a", "b/c"}) || !slices.Equal(all[0].Banned, []string{"flight", "line"}) {
		t.Errorf("%+v", all)
	}
	for _, bad := range []string{"| x | y | a |", "| x | | a | |", "| x | y | | |", "| | y | a | |"} {
		if got, err := ParseGlossary("| Word | |\n" + bad); err == nil && len(got) > 0 {
			t.Errorf("%q was read: %+v", bad, got)
		}
	}
}

func TestTheGlossaryContradictsNothing(t *testing.T) {
	dirs := map[string]bool{"a": true, "b": true, "b/c": true}
	if wrong := CheckGlossary(entries(t), dirs); len(wrong) != 0 {
		t.Errorf("%q", wrong)
	}
	for _, c := range []struct {
		second Entry
		wrong  string
	}{
		{Entry{Word: "x", Packages: []string{"gone"}}, "there is no package gone"},
		{Entry{Word: "flight", Packages: []string{"a"}}, "flight is banned by the row of batch"},
		{Entry{Word: "flight", Packages: []string{"b"}}, ""},
		{Entry{Word: "shard", Packages: []string{"b"}}, "shard has a second row"},
		{Entry{Word: "batch", Packages: []string{"b"}}, ""},
	} {
		wrong := strings.Join(CheckGlossary(append(entries(t), c.second), dirs), "\n")
		if c.wrong == "" && wrong != "" || !strings.Contains(wrong, c.wrong) {
			t.Errorf("%+v: got %q, want %q", c.second, wrong, c.wrong)
		}
	}
}

// TestNamesAreRefused: a file, its source, and the offenders.
func TestNamesAreRefused(t *testing.T) {
	for _, c := range []struct {
		file, src string
		want      string
	}{
		{"a/flight.go", "package a", "a/flight.go flight"},
		{"a/flight_test.go", "package a; func TestFlights() {}", "a/flight_test.go flight"},
		{"a/in_flights.go", "package a", "a/in_flights.go flight"},
		{"a/deep/flight.go", "package deep", "a/deep/flight.go flight"},
		{"b/flight.go", "package b", ""},
		{"ab/flight.go", "package ab", ""},
		{"a/x.go", "package a; type Deadline int; func Outline() {}; type flights int", "a.flights flight"},
		{"a/x.go", "package a; func (f *F[T]) LineOne() {}; func (G) X() {}", "a.F.LineOne line"},
		{"a/x.go", "package a; type T struct { Line, X int; y int }; type I interface { Flight() }", "a.I.Flight flight, a.T.Line line"},
		{"a/x.go", "package a; var ( X int; HTTPLine, Y = 1, 2 ); const Lines = 1", "a.HTTPLine line, a.Lines line"},
		{"b/x.go", "package b; var MustRunNow, RunNews, NowRun int", "b.MustRunNow RunNow"},
		{"b/linger.go", "package b; func SetLinger() {}", "b/linger.go linger.go"},
		{"b/linger_long.go", "package b", ""},
		{"a/x.go", "package a; type Queue int; type QueueState int", "a.Queue a.Queue"},
		{"b/a/x.go", "package a; type Queue int", "b/a.Queue a.Queue"},
		{"b/x.go", "package b; type Queue int", ""},
		{"b/tenants/x.go", "package tenants", "b/tenants/ tenant"},
	} {
		_, names, err := Go(c.file, []byte(c.src))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range Offenders(entries(t), names) {
			got = append(got, o.Line())
			if o.Name.Hidden != (o.Name.Ident == "flights") {
				t.Errorf("%s: hidden is %t", o.Name.Ident, o.Name.Hidden)
			}
		}
		if joined := strings.Join(got, ", "); joined != c.want {
			t.Errorf("%s, %s: got %q, want %q", c.file, c.src, joined, c.want)
		}
	}
}

func TestTheListOfNamesOnlyShrinks(t *testing.T) {
	o := Offender{Name{Place: "a", File: "a/flight.go", Line: 1}, "flight", "batch"}
	if wrong := CheckNames([]string{"a/flight.go flight"}, []Offender{o}); len(wrong) != 0 {
		t.Errorf("%q", wrong)
	}
	wrong := strings.Join(CheckNames([]string{"a/gone.go flight"}, []Offender{o}), "\n")
	for _, want := range []string{`a/flight.go:1: a/flight.go: the glossary bans "flight": use batch`, "a/gone.go flight: the name is gone"} {
		if !strings.Contains(wrong, want) {
			t.Errorf("got %q, want %q", wrong, want)
		}
	}
	second := o
	second.Banned = "line"
	for _, c := range []struct {
		listed    string
		moved     bool
		offenders []Offender
		want      string
	}{
		{"a/flight.go flight", false, []Offender{o}, "a/flight.go flight"},
		{"a/flight.go flight,a/gone.go flight", false, []Offender{o}, "a/flight.go flight"},
		{"a/flight.go flight", false, []Offender{o, second}, "a/flight.go flight"},
		{"old/flight.go flight", false, []Offender{o}, ""},
		{"old/flight.go flight", true, []Offender{o}, "a/flight.go flight"},
		{"a/flight.go flight", true, []Offender{o, second}, "a/flight.go flight"},
	} {
		got := strings.Join(shrink(strings.Split(c.listed, ","), c.offenders, c.moved), ",")
		if got != c.want {
			t.Errorf("%q, moved %t: got %q, want %q", c.listed, c.moved, got, c.want)
		}
	}
}
