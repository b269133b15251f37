package prose

import (
	"maps"
	"strings"
	"testing"
	"testing/fstest"
)

// figure has words words and hits findings.
func figure(words, hits int) Figure {
	f := Figure{Words: words}
	for i := range hits {
		f.Findings = append(f.Findings, Finding{"a/x.go", i + 1, "what", "which"})
	}
	return f
}

// TestTheRatchetRefuses: a row and a figure, and the sentence of Check.
func TestTheRatchetRefuses(t *testing.T) {
	key := Key{"a", Comments}
	for _, c := range []struct {
		name  string
		rows  Rows
		now   map[Key]Figure
		wrong string // a part of the sentence; empty: none
	}{
		{"at the aim, no row", Rows{}, map[Key]Figure{key: figure(1000, 3)}, ""},
		{"above the aim, no row", Rows{}, map[Key]Figure{key: figure(1000, 4)}, `allowed are 3.0:` + "\n\t" + `a/x.go:1: "what": better: which`},
		{"one word in a short text", Rows{}, map[Key]Figure{key: figure(20, 1)}, "50.0 dialect words per 1,000"},
		{"at the row", Rows{key: 20}, map[Key]Figure{key: figure(1000, 20)}, ""},
		{"above the row", Rows{key: 20}, map[Key]Figure{key: figure(1000, 21)}, "allowed are 20.0"},
		{"a long list is cut", Rows{key: 20}, map[Key]Figure{key: figure(1000, 30)}, "and 5 more"},
		{"within the slack", Rows{key: 20}, map[Key]Figure{key: figure(1000, 18)}, ""},
		{"below the slack", Rows{key: 20}, map[Key]Figure{key: figure(1000, 17)}, "lower the row from 20.0 to 17.0"},
		{"at the aim with a row", Rows{key: 3.5}, map[Key]Figure{key: figure(1000, 3)}, "delete it"},
		{"a row without a place", Rows{key: 20}, nil, "a: comments: there is no such text any more"},
		{"a row of the other kind", Rows{{"a", Strings}: 20}, map[Key]Figure{key: figure(1000, 0)}, "a: strings: there is no such text"},
	} {
		wrong := strings.Join(Check(c.rows, c.now), "\n")
		if c.wrong == "" && wrong != "" || !strings.Contains(wrong, c.wrong) {
			t.Errorf("%s: got %q, want %q", c.name, wrong, c.wrong)
		}
	}
}

// TestLowerNeverRaises: rows before, figures, rows afterwards.
func TestLowerNeverRaises(t *testing.T) {
	a, b := Key{"a", Page}, Key{"b", Page}
	for _, c := range []struct {
		name string
		rows Rows
		now  map[Key]Figure
		want Rows
	}{
		{"fallen", Rows{a: 20}, map[Key]Figure{a: figure(1000, 17)}, Rows{a: 17}},
		{"rounded up to a half", Rows{a: 20}, map[Key]Figure{a: figure(10000, 171)}, Rows{a: 17.5}},
		{"risen", Rows{a: 20}, map[Key]Figure{a: figure(1000, 25)}, Rows{a: 20}},
		{"at the aim", Rows{a: 20}, map[Key]Figure{a: figure(1000, 3)}, Rows{}},
		{"stale", Rows{a: 20}, nil, Rows{}},
		{"a new place", Rows{a: 20}, map[Key]Figure{a: figure(1000, 20), b: figure(1000, 20)}, Rows{a: 20}},
	} {
		if got := Lower(c.rows, c.now); !maps.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestAMoveRaisesNoTotal: rows before, figures, rows afterwards; nil if the move
// is refused.
func TestAMoveRaisesNoTotal(t *testing.T) {
	a, b, total := Key{"a", Page}, Key{"b", Page}, Key{Total, Page}
	for _, c := range []struct {
		name string
		rows Rows
		now  map[Key]Figure
		want Rows
	}{
		{"moved", Rows{a: 20, total: 20}, map[Key]Figure{b: figure(1000, 20), total: figure(1000, 20)}, Rows{b: 20, total: 20}},
		{"split", Rows{a: 20, total: 20}, map[Key]Figure{a: figure(500, 15), b: figure(500, 1), total: figure(1000, 16)}, Rows{a: 30, total: 16}},
		{"risen within the half", Rows{a: 19, total: 20}, map[Key]Figure{a: figure(1000, 20), total: figure(1000, 20)}, Rows{a: 20, total: 20}},
		{"new dialect", Rows{a: 20, total: 20}, map[Key]Figure{a: figure(1000, 20), b: figure(1000, 40), total: figure(2000, 60)}, nil},
		{"no rows left", Rows{}, map[Key]Figure{a: figure(1000, 4), total: figure(1000, 4)}, nil},
	} {
		got, err := Moved(c.rows, c.now)
		if !maps.Equal(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("%s: got %v and %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestRowsAreReadAsTheyAreWritten(t *testing.T) {
	rows := Rows{{"a", Page}: 20, {"a", Strings}: 3.5, {"internal/b", Comments}: 7}
	got, err := ParseRows("# a comment\n\n" + rows.String())
	if err != nil || !maps.Equal(got, rows) {
		t.Errorf("got %v and %v, want %v", got, err, rows)
	}
	for _, bad := range []string{"a page", "a page x", "a page 1\na page 2", "a page 1 2"} {
		if _, err := ParseRows(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// TestATreeIsMeasuredByPlaceAndKind, in total too, without testdata and
// directories that begin with a dot.
func TestATreeIsMeasuredByPlaceAndKind(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	texts, err := Read(fstest.MapFS{
		"README.md":             file("What is this"),
		"internal/a/x.go":       file("package a /* who */\nvar x = \"told %s\"\n"),
		"internal/a/x_test.go":  file("package a /* somebody */\n"),
		"internal/a/run.lua":    file("-- nobody\n"),
		"internal/a/testdata/x": file("what"),
		"testdata/x.md":         file("what"),
		".cache/x.go":           file("package broken {"),
		"a/node_modules/x.md":   file("what"),
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[Key]int{}
	for key, f := range Measure(texts) {
		got[key] = len(f.Findings)
	}
	want := map[Key]int{
		{"README.md", Page}: 1, {Total, Page}: 1, {"internal/a", Comments}: 3, {Total, Comments}: 3, {"internal/a", Strings}: 1, {Total, Strings}: 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
