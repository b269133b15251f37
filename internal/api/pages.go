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
	"github.com/foliot/foliot/internal/wire"
)

// pagesPath is the folder of the pages of docs, to which problems and alerts
// link.
const pagesPath = "/docs/"

// pages returns the pages by their paths below pagesPath, made at the first
// call. One of them is the reference, as if it were a file of docs.
var pages = sync.OnceValue(func() map[string]fixedText {
	files := map[string]string{"problems.md": "# Problems\n", "api-reference.md": strings.ReplaceAll(referencePage, "../../docs/", "")}
	for _, p := range problemTypes {
		files["problems.md"] += fmt.Sprintf("\n## %s\n\nStatus %d. %s\n%s\n", p.Code, p.Status, p.Meaning, strings.ReplaceAll(p.Remedy, "](#", "](api-reference.md#"))
	}
	_ = fs.WalkDir(docs.Pages, ".", func(file string, _ fs.DirEntry, _ error) error { // never an error: they are in the program
		if text, err := docs.Pages.ReadFile(file); err == nil {
			files[file] = strings.ReplaceAll(string(text), "../internal/api/reference.md", "api-reference.md")
		}
		return nil
	})
	files["README.md"] += "\n## Problems\n\n[problems.md](problems.md) has each problem that a reply can name, and its remedy.\n"
	all := map[string]fixedText{}
	for file := range files {
		all[pageName(file)] = renderPage(files, file)
	}
	return all
})

// pageName returns the path of the page of a file, which for a README.md is its
// folder.
func pageName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(file, ".md"), "README")
}

// pagePart matches code, which stays as it is, a comment, a heading, an anchor,
// and a link or picture with its text, file and fragment.
var (
	pagePart = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|&lt;!--.*?--&gt;\n?|(?m:^)#+ ([^\n]+)|" + `&lt;a id=&#34;([\w-]+)&#34;&gt;&lt;/a&gt;|!?\[([^\]]+)\]\(([^)\s#]*)(#[^)\s]*)?\)`)
	noSlug   = regexp.MustCompile(`[^\w\- ]`)
)

// renderPage returns Markdown as HTML: the text as it is, without comments, with
// anchors and links. A link to a file without a page leads to the repository.
func renderPage(files map[string]string, file string) fixedText {
	repeats := map[string]int{}
	body := pagePart.ReplaceAllStringFunc(html.EscapeString(files[file]), func(part string) string {
		m := pagePart.FindStringSubmatch(part)
		heading, anchor, shown, to, fragment := m[1], m[2], m[3], m[4], m[5]
		target := path.Join(path.Dir(file), to)
		switch _, served := files[target]; {
		case strings.HasPrefix(part, "&lt;!--"):
			return ""
		case heading != "":
			slug := strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(html.UnescapeString(heading)), ""), " ", "-")
			repeats[slug]++ // the second has -1, as at GitHub
			return `<b id="` + slug + strings.TrimSuffix(fmt.Sprintf("-%d", repeats[slug]-1), "-0") + `">` + part + "</b>"
		case anchor != "":
			return `<a id="` + anchor + `"></a>`
		case to+fragment == "":
			return part
		case served:
			to = "./" + pageName(to)
		case to != "" && !strings.Contains(to, "://"):
			to = wire.Repository + path.Join("docs", target)
		}
		return `<a href="` + to + fragment + `">` + shown + "</a>"
	})
	title, _, _ := strings.Cut(strings.TrimPrefix(files[file], "# "), "\n")
	return newFixedText("text/html; charset=utf-8", []byte(`<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">`+
		`<meta name="color-scheme" content="light dark"><title>`+html.EscapeString(title)+` · Foliot</title><pre style="white-space: pre-wrap">`+body+"</pre>\n"))
}

// page serves a page to any reader, under the name of its file too.
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
