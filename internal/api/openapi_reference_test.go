package api

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

const referenceHead = `# API reference

<!-- Written by make golden PKG=./internal/api RUN=API from the OpenAPI document. Do not edit. -->

Every route, parameter, field, limit and problem of the HTTP API. [api.md](../../docs/api.md) explains how to use it.
A server sends the same facts to programs: ` + "`GET /openapi.json`" + `.

* A route names the [scope](../../docs/api.md#tokens-and-namespaces) that it needs, and says if it needs an operator's token.
* An operator's token names the namespace of a request with the header ` + "`Foliot-Namespace`" + `; without it, ` + "`default`" + ` is used.
* Each route can also reply with a [problem](#problems) of status 400, 401, 403, 429 or 503.
* A *time* is text in RFC 3339, and a *duration* is text such as ` + "`90s`, `1h30m` or `3d`" + `.

`

// Reference returns the content of reference.md.
func Reference() string {
	doc := Document()
	schemas := doc.Components.Schemas.Map()
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, tag := range doc.Tags {
		fmt.Fprintf(&b, "## %s\n\n", strings.ToUpper(tag.Name[:1])+tag.Name[1:])
		for _, r := range routes() {
			if about := descriptions[r.method+" "+r.path]; about.tag == tag.Name {
				d := describer{doc.Components.Schemas, map[*huma.Schema]bool{}}
				writeRoute(&b, d.operation(described{r, about}))
			}
		}
	}
	b.WriteString("## Types\n\n")
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		writeType(&b, name, schemas)
	}
	b.WriteString("## Limits\n\n" + limits() + "\n## Problems\n\n| code | status | meaning | remedy |\n|---|---|---|---|\n")
	for _, p := range problemTypes {
		fmt.Fprintf(&b, "| <a id=%q></a>`%s` | %d | %s | %s |\n", p.Code, p.Code, p.Status, p.Meaning, p.Remedy)
	}
	return b.String()
}

func writeRoute(b *strings.Builder, op *huma.Operation) {
	fmt.Fprintf(b, "### `%s %s`\n\n%s\n\n", op.Method, op.Path, strings.TrimSpace(op.Summary+". "+marked(op.Description)))
	if len(op.Security) > 0 {
		fmt.Fprintf(b, "* needs `%s`\n", strings.Join(op.Security[0][bearerScheme], "`, `"))
	}
	if body := op.RequestBody; body != nil {
		media := slices.Sorted(maps.Keys(body.Content))
		text := "any bytes"
		if s := body.Content[media[0]].Schema; s != nil {
			text = typeOf("", s)
		}
		if !body.Required {
			text += ", optional"
		}
		fmt.Fprintf(b, "* body (`%s`): %s\n", strings.Join(media, "`, `"), text)
	}
	var problems []string
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		reply := op.Responses[status]
		switch {
		case reply.Ref == "":
			fmt.Fprintf(b, "* %s: %s%s\n", status, replyType(reply), marked(reply.Description))
		case !slices.Contains([]string{"400", "401", "403", "429", "503", "default"}, status):
			problems = append(problems, status)
		}
	}
	if len(problems) > 0 {
		fmt.Fprintf(b, "* [problems](#problems) too: %s\n", strings.Join(problems, ", "))
	}
	b.WriteString("\n")
	params := slices.DeleteFunc(slices.Clone(op.Parameters), func(p *huma.Param) bool { return p.Name == namespaceHeader.name })
	if len(params) > 0 {
		b.WriteString("| parameter | in | type | meaning |\n|---|---|---|---|\n")
		for _, p := range params {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Name, p.In, typeOf("", p.Schema)+required(p.Required && p.In != "path"), marked(p.Description))
		}
		b.WriteString("\n")
	}
}

// replyType returns a link to the type of a reply, and the names of its headers.
func replyType(reply *huma.Response) string {
	text := ""
	for _, media := range slices.Sorted(maps.Keys(reply.Content)) {
		if s := reply.Content[media].Schema; s != nil && s.Ref != "" {
			text = typeOf("", s)
		} else if media != jsonType {
			text += " `" + media + "`"
		}
	}
	if headers := slices.Sorted(maps.Keys(reply.Headers)); len(headers) > 0 {
		text += " with `" + strings.Join(headers, "`, `") + "`"
	}
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return text + ". "
}

// writeType writes the fields of a type. Those that a record has in common with
// the body of its PUT are only written there.
func writeType(b *strings.Builder, name string, schemas map[string]*huma.Schema) {
	s, fields := schemas[name], map[string]*huma.Schema{}
	maps.Copy(fields, s.Properties)
	fmt.Fprintf(b, "### %s\n\n", name)
	if input := schemas[name+"Input"]; input != nil {
		maps.DeleteFunc(fields, func(field string, is *huma.Schema) bool {
			other := input.Properties[field]
			return other != nil && other.Description == is.Description
		})
		fmt.Fprintf(b, "The fields of [%sInput](#%s), and:\n\n", name, strings.ToLower(name+"Input"))
	}
	b.WriteString("| field | type | meaning |\n|---|---|---|\n")
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		about := marked(fields[field].Description)
		if examples := fields[field].Examples; len(examples) > 0 {
			about = strings.TrimSpace(fmt.Sprintf("%s Example: `%v`", about, examples[0]))
		}
		kind := typeOf(field, fields[field])
		switch {
		case strings.HasSuffix(name, "Patch") && fields[field].Nullable:
			kind += " or null"
		case strings.HasSuffix(name, "Input"), strings.HasSuffix(name, "Rule"):
			kind += required(slices.Contains(s.Required, field))
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", field, kind, about)
	}
	b.WriteString("\n")
}

func required(is bool) string {
	if is {
		return ", required"
	}
	return ""
}

// typeOf returns the type of a field or parameter for people.
func typeOf(field string, s *huma.Schema) string {
	bounds := ""
	if s.Minimum != nil && s.Maximum != nil {
		bounds = ", " + decimal(*s.Minimum) + " to " + decimal(*s.Maximum)
	} else if s.Minimum != nil && *s.Minimum != 0 {
		bounds = ", at least " + decimal(*s.Minimum)
	}
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	case field == "code" && len(s.Enum) > 0:
		return "[code](#problems)"
	case len(s.Enum) > 0:
		var words []string
		for _, word := range s.Enum {
			words = append(words, fmt.Sprintf("`%v`", word))
		}
		return strings.Join(words, ", ")
	case s.Type == huma.TypeArray:
		if s.MaxItems != nil {
			bounds = ", at most " + strconv.Itoa(*s.MaxItems)
		}
		return "list of " + plural(typeOf("", s.Items)) + bounds
	case s.Type == huma.TypeObject:
		if values, is := s.AdditionalProperties.(*huma.Schema); is {
			return "map of " + plural(typeOf("", values))
		}
		return "object"
	case s.Type == "":
		return "any JSON"
	case s.Format == "date-time":
		return "time"
	case s.Pattern == durationPattern:
		return "duration"
	case s.Format == "uri":
		return "URL"
	case s.ContentEncoding != "":
		return s.ContentEncoding
	case s.MaxLength != nil:
		bounds = ", at most " + strconv.Itoa(*s.MaxLength)
	}
	return s.Type + bounds
}

// plural returns several of a type, which can be a link or a list of words.
func plural(kind string) string {
	if strings.ContainsAny(kind, "`]") {
		return kind
	}
	return kind + "s"
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// literal matches words that Markdown would take for marks.
var literal = regexp.MustCompile(`[\w:-]*(?:\*|<\w+>)`)

// marked returns a description as Markdown, in a cell of a table too.
func marked(text string) string {
	return strings.ReplaceAll(literal.ReplaceAllString(text, "`$0`"), "|", `\|`)
}

// The type of a problem is the URL of its row, so no heading may have its anchor.
func TestNoHeadingOfTheReferenceOfTheAPIHasTheAnchorOfAProblem(t *testing.T) {
	for line := range strings.SplitSeq(Reference(), "\n") {
		heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if slug := strings.ReplaceAll(strings.ToLower(heading), " ", "-"); ok && strings.HasPrefix(line, "#") && statusByCode[slug] != 0 {
			t.Errorf("the heading %q has the anchor of a problem type", heading)
		}
	}
}
