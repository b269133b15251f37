package api_test

import (
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/wire"
)

// linksAndIDs matches the ids and the targets of links of a page.
var linksAndIDs = regexp.MustCompile(`(id|href)="([^"]*)"`)

func TestTheServerHasAPageForEveryProblemAndEveryAlert(t *testing.T) {
	s := serve(t)
	s.token(settings.AllNamespaces, settings.ScopeAdmin) // the pages need none
	var described struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Enum []string }
			}
		}
	}
	fatal.If(t, json.Unmarshal(s.do("GET", "/openapi.json", "").want(200, nil).body, &described))
	codes := described.Components.Schemas["Problem"].Properties["code"].Enum
	problems := string(s.do("GET", "/docs/problems", "").want(200, nil).body)
	for _, code := range codes {
		if !strings.Contains(problems, `<b id="`+code+`">`) {
			t.Errorf("/docs/problems does not describe %s", code)
		}
	}
	rules, err := os.ReadFile("../../docs/grafana/alerts.yaml")
	fatal.If(t, err)
	alerts := regexp.MustCompile(`(?s)- alert: (\w+)\n.*?runbook_url: '[^'\n]*(/docs/[^'\n]+)'`).FindAllStringSubmatch(string(rules), -1)
	for _, m := range alerts {
		if page := s.do("GET", m[2], "").want(200, nil); !strings.Contains(string(page.body), `<b id="`+strings.ToLower(m[1])+`">`) {
			t.Errorf("%s is not about %s", m[2], m[1])
		}
	}
	if len(codes) < 80 || len(alerts) < 20 || len(alerts) != strings.Count(string(rules), "alert:") {
		t.Errorf("%d codes and %d alerts were checked", len(codes), len(alerts))
	}
}

// A page of the server links only to such pages, to files of the repository and
// to other sites. All pages can be reached from the first.
func TestEveryLinkOfAPageOfTheServerLeadsSomewhere(t *testing.T) {
	s, targets, links, files := serve(t), map[string]bool{}, map[string]string{}, 0
	for todo := []string{"/docs/"}; len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		if targets[name] {
			continue
		}
		targets[name] = true
		here := &url.URL{Path: name}
		body := string(s.do("GET", name, "").want(200, nil).body)
		if left := regexp.MustCompile(`&lt;!--|\]\((\.\./|images/)|!<a`).FindString(body); left != "" {
			t.Errorf("%s has %q", name, left)
		}
		for _, m := range linksAndIDs.FindAllStringSubmatch(body, -1) {
			to, err := here.Parse(m[2])
			fatal.If(t, err)
			file, isFile := strings.CutPrefix(m[2], wire.Repository)
			switch {
			case m[1] == "id" && targets[name+"#"+m[2]]:
				t.Errorf("%s has two parts with the id %s", name, m[2])
			case m[1] == "id":
				targets[name+"#"+m[2]] = true
			case isFile:
				files++
				file, _, _ = strings.Cut(file, "#")
				if _, err := os.Stat("../../" + file); err != nil {
					t.Errorf("%s links to a file: %v", name, err)
				}
			case !to.IsAbs():
				links[to.String()] = name
				todo = append(todo, to.Path)
			}
		}
	}
	for to, from := range links {
		if !targets[to] {
			t.Errorf("%s links to %s, which is nowhere", from, to)
		}
	}
	if len(links) < 100 || files < 50 || !targets["/docs/problems"] {
		t.Errorf("only %d links and %d files were checked, the page of the problems: %v", len(links), files, targets["/docs/problems"])
	}
	s.do("GET", "/docs/none", "").problem(404, "no_route", "")
}

func TestAPageOfTheServerHasTheAddressesThatPeopleTry(t *testing.T) {
	s := serve(t)
	for address, page := range map[string]string{
		"/docs/api?utm_source=chat": "/docs/api", "/docs/api.md": "/docs/api", "/docs/problems.md": "/docs/problems", "/docs/README": "/docs/",
		"/docs/README.md": "/docs/", "/docs/runbooks/README": "/docs/runbooks/", "/docs/runbooks/FoliotLate.md?a=b": "/docs/runbooks/FoliotLate",
	} {
		if s.do("GET", address, "").want(200, nil).header.Get("ETag") != s.do("GET", page, "").want(200, nil).header.Get("ETag") {
			t.Errorf("%s is not the page %s", address, page)
		}
	}
	for address, folder := range map[string]string{"/docs": "docs/", "/docs/runbooks?a=b": "runbooks/"} {
		if to := s.do("GET", address, "").want(303, nil).header.Get("Location"); to != folder {
			t.Errorf("%s leads to %s", address, to)
		}
	}
	s.do("GET", "/?utm_source=chat", "").want(200, nil)
}

func TestRepeatedHeadingsOfAPageHaveIDsOfTheirOwn(t *testing.T) {
	page := api.RenderPage("a.md", "# A\n## Remedy: x\n<!-- a `b` -->\n## Remedy: x\n`<!-- c -->` ![d](images/e.webp) [](f)\n## Remedy: x\n")
	for _, part := range []string{
		`<b id="remedy-x">## Remedy: x</b>` + "\n" + `<b id="remedy-x-1">## Remedy: x</b>` + "\n`&lt;!-- c", `<b id="remedy-x-2">`,
		`<a href="` + wire.Repository + `docs/images/e.webp">d</a> [](f)`,
	} {
		if !strings.Contains(page, part) {
			t.Errorf("no %s in %s", part, page)
		}
	}
}

func TestABrowserReadsAPageOfTheServerOnce(t *testing.T) {
	s := serve(t)
	first := s.do("GET", "/docs/runbooks/FoliotLate", "").want(200, nil)
	again := s.do("GET", "/docs/runbooks/FoliotLate", "", "If-None-Match: "+first.header.Get("ETag"))
	if first.header.Get("Cache-Control") != "no-cache" || again.status != 304 || len(again.body) > 0 {
		t.Errorf("%v, then %d with %d bytes", first.header, again.status, len(again.body))
	}
}
