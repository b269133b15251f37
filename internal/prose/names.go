package prose

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Name is the name of a directory, a file or an identifier that a package, a
// struct or an interface declares.
type Name struct {
	Place  string // the package's directory
	File   string
	Line   int
	Ident  string // Type.Method for methods and fields; "" for a file or a directory
	Dir    bool   // the directory that the file is in
	Hidden bool   // an unexported identifier
}

// Key identifies the name in the list of offenders.
func (n Name) Key() string {
	switch {
	case n.Dir:
		return n.Place + "/"
	case n.Ident == "":
		return n.File
	}
	return n.Place + "." + n.Ident
}

// own returns the part of the name that this declaration chose: a method
// without its type, a file without suffixes.
func (n Name) own() string {
	switch {
	case n.Dir:
		return path.Base(n.Place)
	case n.Ident == "":
		return strings.TrimSuffix(strings.TrimSuffix(path.Base(n.File), ".go"), "_test")
	}
	return n.Ident[strings.LastIndex(n.Ident, ".")+1:]
}

// names returns the names of a Go file, of its directory and, unless the file
// is a test, of the identifiers that it declares outside of functions.
func names(name string, file *ast.File, line func(token.Pos) int) []Name {
	place := path.Dir(name)
	all := []Name{{Place: place, File: name, Line: 1, Dir: true}, {Place: place, File: name, Line: 1}}
	if strings.HasSuffix(name, "_test.go") {
		return all
	}
	add := func(prefix string, idents ...*ast.Ident) {
		for _, id := range idents {
			all = append(all, Name{
				Place: place, File: name, Line: line(id.Pos()),
				Ident: prefix + id.Name, Hidden: !id.IsExported(),
			})
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(receiver(d), d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					add("", spec.Names...)
				case *ast.TypeSpec:
					add("", spec.Name)
					for _, m := range members(spec.Type) {
						add(spec.Name.Name+".", m.Names...)
					}
				}
			}
		}
	}
	return all
}

func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch at := t.(type) {
		case *ast.StarExpr:
			t = at.X
		case *ast.IndexExpr:
			t = at.X
		case *ast.IndexListExpr:
			t = at.X
		case *ast.Ident:
			return at.Name + "."
		default:
			return ""
		}
	}
}

// members returns the fields of a struct or the methods of an interface.
func members(t ast.Expr) []*ast.Field {
	switch t := t.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	}
	return nil
}

// wordsOf splits an identifier or a file's name: mixedCaps, ACRONYMWords and
// snake_case, all in lower case.
func wordsOf(name string) []string {
	var words []string
	runes := []rune(name)
	start := 0
	cut := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(string(runes[start:end])))
		}
		start = end
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			cut(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			cut(i)
		}
	}
	cut(len(runes))
	return words
}

// contains reports whether name has the words of phrase one after the other, in
// the singular or the plural.
func contains(name, phrase []string) bool {
	for i := range len(name) - len(phrase) + 1 {
		if slices.EqualFunc(name[i:i+len(phrase)], phrase, func(word, banned string) bool { return word == banned || word == banned+"s" }) {
			return true
		}
	}
	return false
}
