package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestEachFaultOfThePagesIsReported(t *testing.T) {
	const head = `<title>T</title><link rel=icon href=icon.svg><a rel=next href="https://foliot.example">`
	site := fstest.MapFS{
		"icon.svg":        {},
		"search-index.js": {Data: []byte(`[{"address":"a.html"},{"address":"a.html#part"},{"address":"a.html#in-code"}]`)},
		"site.css":        {},
		"index.html":      {Data: []byte(`<title>Foliot</title><link rel=icon href=icon.svg><link href=site.css><a rel=next href="a.html">N</a><a href="a.html">A</a><a href="a.html#part">B</a><a href="https://foliot.example/x">C</a>`)},
		"a.html":          {Data: []byte(head + `<h2 id="part">Part</h2><a href="#part">D</a><a href="a.html#other">E</a><a href="b.html">F</a><a href=".">G</a>`)},
		"deep/c.html":     {Data: []byte(`<title>T</title><a href="../a.html#part">H</a><img src="none.webp">`)},
	}
	pages, broken, err := check(site)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(broken)
	want := []string{
		"a.html: .: this is a folder",
		"a.html: a.html#other: the page has no such heading",
		"a.html: b.html: there is no such file",
		"deep/c.html: none.webp: there is no such file",
		"deep/c.html: the search does not find it",
		"deep/c.html: there is no link rel=icon",
		"deep/c.html: there is no link rel=next",
		"the search: a.html#in-code: the page has no such heading",
		"two pages have the title T",
	}
	if pages != 3 || !slices.Equal(broken, want) {
		t.Errorf("%d pages:\n%s", pages, strings.Join(broken, "\n"))
	}
	if _, _, err := check(fstest.MapFS{}); err == nil {
		t.Error("an empty folder is a site")
	}
}
