package api

import (
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/foliot/foliot/docs"
)

// pagesPath is the folder of the pages of docs. Problems and alerts link there.
const pagesPath = "/docs/"

// pages returns the pages by their paths below pagesPath. They are made at the
// first call.
var pages = sync.OnceValue(func() map[string]fixedText {
	problems := "# Problems\n"
	for _, p := range problemTypes {
		problems += fmt.Sprintf("\n## %s\n\nStatus %d. %s\n%s\n", p.Code, p.Status, p.Meaning, strings.ReplaceAll(p.Remedy, "](#", "](api.md#"))
	}
	all := map[string]fixedText{"problems": renderPage("problems.md", problems)}
	_ = fs.WalkDir(docs.Pages, ".", func(file string, _ fs.DirEntry, _ error) error { // never an error: they are in the program
		if text, err := docs.Pages.ReadFile(file); err == nil {
			all[pageName(file)] = renderPage(file, string(text))
		}
		return nil
	})
	return all
})

// pageName returns the path of the page of a file. A README.md is its folder.
func pageName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(file, ".md"), "README")
}

// pagePart matches code, which stays as it is, a heading, an anchor, and a link
// with its text, file and fragment.
var pagePart = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|(?m:^)#+ ([^\n]+)|" + `&lt;a id=&#34;([\w-]+)&#34;&gt;&lt;/a&gt;|\[([^\]]+)\]\(([^)\s#]*)(#[^)\s]*)?\)`)

var noSlug = regexp.MustCompile(`[^\w\- ]`)

// renderPage returns Markdown as HTML: the text as it is, with anchors and
// links. A link to a file without a page stays text.
func renderPage(file, text string) fixedText {
	body := pagePart.ReplaceAllStringFunc(html.EscapeString(text), func(part string) string {
		m := pagePart.FindStringSubmatch(part)
		heading, anchor, shown, to, fragment := m[1], m[2], m[3], m[4], m[5]
		if _, err := fs.Stat(docs.Pages, path.Join(path.Dir(file), to)); err == nil && strings.HasSuffix(to, ".md") {
			to = "./" + pageName(to)
		}
		switch {
		case heading != "":
			slug := noSlug.ReplaceAllString(strings.ToLower(html.UnescapeString(heading)), "")
			return `<b id="` + strings.ReplaceAll(slug, " ", "-") + `">` + part + "</b>"
		case anchor != "":
			return `<a id="` + anchor + `"></a>`
		case strings.HasPrefix(to, "./") || strings.HasPrefix(to, "https://") || to == "" && fragment != "":
			return `<a href="` + to + fragment + `">` + shown + "</a>"
		}
		return part
	})
	title, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	return newFixedText("text/html; charset=utf-8", []byte(`<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">`+
		`<meta name="color-scheme" content="light dark"><title>`+html.EscapeString(title)+` · Foliot</title><pre style="white-space: pre-wrap">`+body+"</pre>\n"))
}

// page serves a page, under the name of its file too. Anyone may read it.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	p, ok := pages()[pageName(strings.TrimPrefix(r.URL.Path, pagesPath))]
	if !ok {
		s.fail(w, r, refuse("no_route", "", "there is no such page: "+pagesPath+" lists the pages"))
		return
	}
	w.Header().Set("Cache-Control", "no-cache") // a browser keeps the page, and compares the tag
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	p.send(w, r)
}
