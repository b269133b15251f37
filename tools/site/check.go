package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// document is a page of the site.
type document struct {
	title string
	links []string
	ids   map[string]bool
	rels  map[string]bool
}

// address matches an address in the index of the search.
var address = regexp.MustCompile(`"address":"([^"]*)"`)

// check returns the number of pages in a folder, and a line for each link to a
// missing file or heading. Each page must be in the index of the search, and
// have an icon, a link to the next page, and a title that no other page has.
func check(site fs.FS) (pages int, broken []string, err error) {
	all := map[string]document{}
	err = fs.WalkDir(site, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".html" {
			return err
		}
		text, err := fs.ReadFile(site, name)
		if err != nil {
			return err
		}
		all[name], err = parse(text)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	if len(all) == 0 {
		return 0, nil, errors.New("the folder holds no page")
	}
	index, err := fs.ReadFile(site, "search-index.js")
	if err != nil {
		return 0, nil, err
	}
	titles, found := map[string]bool{}, map[string]bool{}
	for _, m := range address.FindAllSubmatch(index, -1) {
		to := string(m[1])
		found[to] = true
		if reason := follow(site, all, "search-index.js", to); reason != "" {
			broken = append(broken, fmt.Sprintf("the search: %s: %s", to, reason))
		}
	}
	for name, page := range all {
		switch {
		case page.title == "":
			broken = append(broken, name+": there is no title")
		case titles[page.title]:
			broken = append(broken, "two pages have the title "+page.title)
		}
		titles[page.title] = true
		for _, rel := range []string{"icon", "next"} {
			if !page.rels[rel] {
				broken = append(broken, name+": there is no link rel="+rel)
			}
		}
		if name != "index.html" && !found[name] {
			broken = append(broken, name+": the search does not find it")
		}
		for _, link := range page.links {
			if reason := follow(site, all, name, link); reason != "" {
				broken = append(broken, fmt.Sprintf("%s: %s: %s", name, link, reason))
			}
		}
	}
	return len(all), broken, nil
}

// parse returns the links and the ids of a page.
func parse(text []byte) (document, error) {
	page := document{ids: map[string]bool{}, rels: map[string]bool{}}
	tokens := html.NewTokenizer(bytes.NewReader(text))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			if err := tokens.Err(); !errors.Is(err, io.EOF) {
				return page, err
			}
			return page, nil
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			if token.Data == "title" && tokens.Next() == html.TextToken {
				page.title = strings.TrimSpace(tokens.Token().Data)
			}
			for _, a := range token.Attr {
				switch a.Key {
				case "href", "src":
					page.links = append(page.links, a.Val)
				case "rel":
					page.rels[a.Val] = true
				case "id":
					page.ids[a.Val] = true
				}
			}
		}
	}
}

// follow returns the reason why a link of the page from is broken, or "". It
// does not follow links to other sites.
func follow(site fs.FS, all map[string]document, from, link string) string {
	u, err := url.Parse(link)
	switch {
	case err != nil:
		return err.Error()
	case u.IsAbs() || u.Host != "":
		return ""
	}
	to := from
	if u.Path != "" {
		to = path.Join(path.Dir(from), u.Path)
	}
	info, err := fs.Stat(site, to)
	switch {
	case err != nil:
		return "there is no such file"
	case info.IsDir():
		return "this is a folder"
	case u.Fragment != "" && strings.HasSuffix(to, ".html") && !all[to].ids[u.Fragment]:
		return "the page has no such heading"
	}
	return ""
}
