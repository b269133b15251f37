package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Message is a text that users read: a log record, an error, a help text, a
// part of a reply.
type Message struct {
	Place string // the directory
	Log   bool   // a log record: Text begins with its level and ends with its attributes
	Text  string // quoted as in Go, with … for values, and a line for each of its lines
}

// Messages returns the messages of a Go file; tests have none. It leaves out the
// tag `doc`, which is a part of the OpenAPI document, and the texts of panics in
// internal packages.
func Messages(name string, src []byte) ([]Message, error) {
	if strings.HasSuffix(name, "_test.go") {
		return nil, nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	c := &collector{place: path.Dir(name)}
	ast.Inspect(file, c.visit)
	return c.messages, nil
}

// collector collects the messages of one file.
type collector struct {
	place    string
	messages []Message
}

// visit collects the messages below a node. It returns false if it collected
// all.
func (c *collector) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.Field:
		if n.Tag != nil {
			c.tag(value(n.Tag))
		}
		ast.Inspect(n.Type, c.visit) // and not the tag, a literal
		return false
	case *ast.CallExpr:
		return !c.isInternalPanic(n) && !c.record(n)
	case *ast.BasicLit:
		c.text([]ast.Expr{n})
	case *ast.BinaryExpr:
		operands := joined(n)
		if !slices.ContainsFunc(operands, isString) {
			return true
		}
		c.text(operands)
		c.rest(operands)
		return false
	}
	return true
}

func (c *collector) tag(tag string) {
	for _, key := range tags {
		if text := reflect.StructTag(tag).Get(key); key != "doc" && isMessage(text) {
			c.messages = append(c.messages, Message{Place: c.place, Text: quoted(text)})
		}
	}
}

func (c *collector) text(operands []ast.Expr) {
	if text := joinedText(operands); isMessage(text) {
		c.messages = append(c.messages, Message{Place: c.place, Text: quoted(text)})
	}
}

// rest collects the messages below those expressions that are no strings.
func (c *collector) rest(list []ast.Expr) {
	for _, o := range list {
		if !isString(o) {
			ast.Inspect(o, c.visit)
		}
	}
}

func (c *collector) isInternalPanic(call *ast.CallExpr) bool {
	name, is := call.Fun.(*ast.Ident)
	return is && name.Name == "panic" && strings.HasPrefix(c.place, "internal/")
}

// levels has the methods that log, with their level and the position of the
// message. Log and LogAttrs have the level as an argument.
var levels = map[string]struct {
	level string
	at    int
}{
	"Debug": {"DEBUG", 0}, "Info": {"INFO", 0}, "Warn": {"WARN", 0}, "Error": {"ERROR", 0},
	"DebugContext": {"DEBUG", 1}, "InfoContext": {"INFO", 1}, "WarnContext": {"WARN", 1}, "ErrorContext": {"ERROR", 1},
	"Log": {"", 2}, "LogAttrs": {"", 2},
}

// record collects a log record, and reports whether the call logs one.
func (c *collector) record(call *ast.CallExpr) bool {
	method, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return false
	}
	known, is := levels[method.Sel.Name]
	if !is || len(call.Args) <= known.at {
		return false
	}
	operands := joined(call.Args[known.at])
	if !slices.ContainsFunc(operands, isString) {
		return false
	}
	level := known.level
	if level == "" {
		level = "…"
		if constant, is := call.Args[1].(*ast.SelectorExpr); is {
			level = strings.ToUpper(strings.TrimPrefix(constant.Sel.Name, "Level"))
		}
	}
	words := append([]string{level, quoted(joinedText(operands))}, attributes(call.Args[known.at+1:])...)
	c.messages = append(c.messages, Message{Place: c.place, Log: true, Text: strings.Join(words, " ")})
	c.rest(operands)
	c.rest(call.Args[known.at+1:])
	return true
}

// attributes returns the names of a log record's attributes: keys before their
// values, and calls such as slog.String. The arguments of append are such
// attributes too.
func attributes(args []ast.Expr) (names []string) {
	for i := 0; i < len(args); i++ {
		if isString(args[i]) {
			names = append(names, value(args[i].(*ast.BasicLit)))
			i++
			continue
		}
		call, is := args[i].(*ast.CallExpr)
		if !is || len(call.Args) == 0 {
			continue
		}
		if name, is := call.Fun.(*ast.Ident); is && name.Name == "append" {
			names = append(names, attributes(call.Args[1:])...)
		} else if isString(call.Args[0]) {
			names = append(names, value(call.Args[0].(*ast.BasicLit)))
		}
	}
	return names
}

// joinedText returns the text of a sum, with … for each operand that is no
// literal.
func joinedText(operands []ast.Expr) string {
	var b strings.Builder
	for _, o := range operands {
		text := "…"
		if isString(o) {
			text, _ = strconv.Unquote(o.(*ast.BasicLit).Value)
		}
		b.WriteString(text)
	}
	return b.String()
}

// quoted returns a text as Go writes it, with a line for each of its lines.
func quoted(text string) string {
	lines := slices.Collect(strings.Lines(text))
	for i, line := range lines {
		lines[i] = strconv.Quote(line)
	}
	return strings.Join(lines, "\n\t\t")
}

// isMessage reports whether a text has a phrase, and words besides its values.
func isMessage(text string) bool {
	text, is := message(strings.ReplaceAll(text, "…", hole))
	return is && strings.ContainsFunc(strings.ReplaceAll(text, hole, ""), unicode.IsLetter)
}
