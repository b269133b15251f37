package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestEachLinkThatLeadsNowhereIsReported(t *testing.T) {
	site := fstest.MapFS{
		"search-index.js": {Data: []byte(`[{"address":"a.html"}]`)},
		"site.css":        {},
		"index.html":      {Data: []byte(`<link href=site.css><a href="a.html">A</a><a href="a.html#part">B</a><a href="https://foliot.example/x">C</a>`)},
		"a.html":          {Data: []byte(`<h2 id="part">Part</h2><a href="#part">D</a><a href="a.html#other">E</a><a href="b.html">F</a><a href=".">G</a>`)},
		"deep/c.html":     {Data: []byte(`<a href="../a.html#part">H</a><img src="none.webp">`)},
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
	}
	if pages != 3 || !slices.Equal(broken, want) {
		t.Errorf("%d pages:\n%s", pages, strings.Join(broken, "\n"))
	}
	if _, _, err := check(fstest.MapFS{}); err == nil {
		t.Error("an empty folder is a site")
	}
}
