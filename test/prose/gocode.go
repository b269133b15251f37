package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tags are the keys of struct tags that users read: kong's help and the
// descriptions of the API.
var tags = []string{"help", "doc", "placeholder", "group"}

// directive is a comment for a tool: //go:embed, //nolint. A reason may follow
// it, after a second //.
var directive = regexp.MustCompile(`^//[a-z]+(:.*?)?( //|$)`)

// Go returns the texts of a Go file.
func Go(name string, src []byte) ([]Text, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	line := func(p token.Pos) int { return set.PositionFor(p, false).Line }
	return texts(name, file, line), nil
}

// texts returns the comments of a file and, unless it is a test, its messages:
// string literals that read as prose. Literals joined by + are one message.
func texts(name string, file *ast.File, line func(token.Pos) int) []Text {
	r := &reader{place: path.Dir(name), file: name, line: line}
	for _, group := range file.Comments {
		r.comment(group)
	}
	if !strings.HasSuffix(name, "_test.go") {
		ast.Inspect(file, r.visit)
	}
	return r.texts
}

// reader collects the texts of one Go file.
type reader struct {
	place, file string
	line        func(token.Pos) int
	texts       []Text
}

func (r *reader) add(kind Kind, line int, body string) {
	r.texts = append(r.texts, Text{Place: r.place, Kind: kind, File: r.file, Line: line, Body: body})
}

func (r *reader) comment(group *ast.CommentGroup) {
	first := r.line(group.Pos())
	var body strings.Builder
	for _, c := range group.List {
		text := strings.TrimPrefix(directive.ReplaceAllString(c.Text, ""), "//")
		if strings.HasPrefix(text, "\t") { // code in a doc comment
			text = ""
		}
		if block, found := strings.CutPrefix(text, "/*"); found {
			text = strings.TrimSuffix(block, "*/")
		}
		pad(&body, r.line(c.Pos())-first)
		body.WriteString(text)
	}
	r.add(Comments, first, plain(body.String()))
}

// pad writes line ends until the text has n.
func pad(text *strings.Builder, n int) {
	if missing := n - strings.Count(text.String(), "\n"); missing > 0 {
		text.WriteString(strings.Repeat("\n", missing))
	}
}

// visit reads the messages below a node. It returns false if it read all.
func (r *reader) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.Field:
		if n.Tag != nil {
			r.tag(n.Tag)
		}
		ast.Inspect(n.Type, r.visit) // and not the tag, a literal
		return false
	case *ast.BasicLit:
		r.message([]ast.Expr{n})
	case *ast.BinaryExpr:
		operands := joined(n)
		if !slices.ContainsFunc(operands, isString) {
			return true
		}
		r.message(operands)
		for _, o := range operands {
			if !isString(o) {
				ast.Inspect(o, r.visit)
			}
		}
		return false
	}
	return true
}

// joined returns the operands of a sum.
func joined(e ast.Expr) []ast.Expr {
	if sum, is := e.(*ast.BinaryExpr); is && sum.Op == token.ADD {
		return append(joined(sum.X), joined(sum.Y)...)
	}
	return []ast.Expr{e}
}

func isString(e ast.Expr) bool {
	literal, is := e.(*ast.BasicLit)
	return is && literal.Kind == token.STRING
}

func (r *reader) message(operands []ast.Expr) {
	first := r.line(operands[0].Pos())
	var body strings.Builder
	for _, o := range operands {
		pad(&body, r.line(o.Pos())-first)
		if isString(o) {
			body.WriteString(value(o.(*ast.BasicLit)))
		} else {
			body.WriteString(hole)
		}
	}
	if text, is := message(body.String()); is {
		r.add(Strings, first, text)
	}
}

// value returns the literal's text. The line ends that an interpreted literal
// spells as \n become spaces, so that lines can be counted.
func value(literal *ast.BasicLit) string {
	s, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	if strings.HasPrefix(literal.Value, "`") {
		return s
	}
	return strings.ReplaceAll(s, "\n", " ")
}

func (r *reader) tag(literal *ast.BasicLit) {
	tag := reflect.StructTag(value(literal))
	for _, key := range tags {
		if text, is := message(tag.Get(key)); is {
			r.add(Strings, r.line(literal.Pos()), text)
		}
	}
}
