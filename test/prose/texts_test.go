package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// text is a piece of prose. The figures of a package are counted by kind,
// because good comments must not hide bad messages.
type text struct {
	place string // the directory, or the page itself
	kind  string // comments, strings or page
	file  string
	line  int
	body  string // has the line ends of the source, so that lines can be counted
}

var (
	inlineCode = regexp.MustCompile("``[^\n]*?``|`[^`\n]*\n?[^`\n]*`")
	address    = regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s)>"]+`)
	fence      = regexp.MustCompile("(?ms)^[ ]*```.*?^[ ]*```")
	target     = regexp.MustCompile(`\]\([^)\n]*\)|(?m)^\s*\[[^\]\n]+\]:\s.*$|<[^>\n]*>`)
	notProse   = regexp.MustCompile(`(?m)^//([a-z]+:|\t).*|^/[/*]|\*/$`) // a directive, code, and the marks of a comment
	caption    = regexp.MustCompile(`^\s*"?(?:summary|description|title)"?:\s*(.*)$`)
	escapes    = strings.NewReplacer(`\n`, " ", `\t`, " ", `\"`, `"`)
)

// blank removes each match of the patterns, and keeps line ends.
func blank(body string, patterns ...*regexp.Regexp) string {
	for _, p := range patterns {
		body = p.ReplaceAllStringFunc(body, func(s string) string { return " " + strings.Repeat("\n", strings.Count(s, "\n")) })
	}
	return body
}

// marker starts a comment in files that are not Go.
var marker = map[string]string{
	".lua": "--", ".py": "#", ".sh": "#", ".yaml": "#", ".yml": "#", ".c": "//", ".ts": "//", ".mod": "//", "Makefile": "#", "run": "#",
}

// read returns the prose of all files below root.
func read(t *testing.T, root fs.FS) (texts []text) {
	t.Helper()
	walkFiles(t, root, func(name, src string) {
		switch path.Ext(name) {
		case ".go":
			texts = append(texts, textsOfGo(t, name, src)...)
		case ".md":
			texts = append(texts, text{name, "page", name, 1, blank(src, fence, inlineCode, target, address)})
		default:
			texts = append(texts, textsOfLines(name, src)...)
		}
	})
	return texts
}

// textsOfGo returns the comments of a Go file and, unless it is a test, its
// string literals and tags with several words.
func textsOfGo(t *testing.T, name, src string) (texts []text) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.ParseComments|parser.SkipObjectResolution)
	fatal.If(t, err)
	add := func(kind string, at token.Pos, body string) {
		texts = append(texts, text{path.Dir(name), kind, name, set.PositionFor(at, false).Line, blank(body, inlineCode, address)})
	}
	for _, group := range file.Comments {
		var lines []string
		for _, c := range group.List {
			lines = append(lines, notProse.ReplaceAllString(c.Text, ""))
		}
		add("comments", group.Pos(), strings.Join(lines, "\n"))
	}
	if strings.HasSuffix(name, "_test.go") {
		return texts
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING && strings.Contains(literal.Value, " ") {
			add("strings", literal.Pos(), escapes.Replace(strings.Trim(literal.Value, "`")))
		}
		return true
	})
	return texts
}

// textsOfLines returns the comments of a file in another language, and below docs
// the texts that operators read in rules and dashboards.
func textsOfLines(name, src string) []text {
	start := marker[path.Ext(name)] + marker[path.Base(name)]
	var comments, captions strings.Builder
	for line := range strings.Lines(src) {
		line = strings.TrimSuffix(line, "\n")
		if at := strings.Index(line, start); start != "" && at >= 0 && (at == 0 || strings.ContainsAny(line[at-1:at], " \t")) {
			comments.WriteString(line[at+len(start):])
		}
		if m := caption.FindStringSubmatch(line); m != nil && strings.HasPrefix(name, "docs/") {
			captions.WriteString(m[1])
		}
		comments.WriteByte('\n')
		captions.WriteByte('\n')
	}
	dir := path.Dir(name)
	return []text{
		{dir, "comments", name, 1, blank(comments.String(), inlineCode, address)},
		{dir, "strings", name, 1, captions.String()},
	}
}

func TestTextsAreReadFromTheirPlaces(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"a/x.go", "package x // what\n\n// T is of\n// which `what` https://x.org/what is known.\n//\n//\twhat := code\n//go:embed what\ntype T struct {\n\tA int `help:\"Who may.\"`\n}\n\nvar a = \"what\"\nvar b = f(\"what %s: %w\", `raw\nand nobody`)\n\n/* anew\n   likewise */\n", "comments 1 what, comments 3 of which, comments 16 anew, comments 17 likewise, strings 9 who, strings 13 what, strings 14 nobody"},
		{"a/x_test.go", "package x // what\n\nvar b = \"what is\"\n", "comments 1 what"},
		{"docs/x.md", "# What\nA `what` and ``a ` what`` and [told](what.md \"who\") of\nwhich <b what>nobody</b>, `who\nwho` and whose.\n\n```sh\nwhat\n```\n| of | which |\n[ref]: what.md\nanew", "page 1 what, page 2 told, page 2 of which, page 3 nobody, page 4 whose, page 11 anew"},
		{"s/x.lua", "local what = 1 -- who\n-- told\nwhat--;\n", "comments 1 who, comments 2 told"},
		{"Makefile", "what: # whose\n", "comments 1 whose"},
		{"s/x.svg", "# what", ""},
		{"docs/x.yaml", "summary: what is\ndescription: \"{{ $x }} is told\"\n", "strings 1 what, strings 2 told"},
		{"docs/x.json", "  \"title\": \"Who is late?\",\n  \"expr\": \"what is\"\n", "strings 1 who"},
	} {
		var got []string
		for _, x := range read(t, fstestFile(c.name, c.src)) {
			for _, h := range count(x.body) {
				got = append(got, x.kind+" "+x.lineOf(h)+" "+h.word)
			}
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.name, got, c.want)
		}
	}
}
