package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// python returns the client as a module for Python 3.11 or newer. The module
// uses only the standard library.
func python(a *api) string {
	var b strings.Builder
	fmt.Fprintf(&b, pyHead, a.title)
	for _, n := range sorted(a.schemas) {
		pySchema(&b, n, a.schemas[n])
	}
	fmt.Fprintf(&b, pyClient, a.problem)
	for _, op := range a.operations {
		pyOperation(&b, op)
	}
	return b.String()
}

const pyHead = `# Written from the OpenAPI document of %s. Do not edit.
from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from email.message import Message
from typing import Any, Generic, Literal, NamedTuple, NotRequired, TypedDict, TypeVar

T = TypeVar("T")


class Reply(NamedTuple, Generic[T]):
    """A reply. Its status distinguishes the kinds of success."""

    status: int
    headers: Message
    body: T


`

const pyClient = `class ProblemError(Exception):
    """The server's refusal."""

    def __init__(self, status: int, headers: Message, problem: %[1]s | None):
        super().__init__(f"{problem['code']}: {problem['detail']}" if problem else f"status {status}")
        self.status = status
        self.headers = headers
        self.problem = problem


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
        return None  # the token is for one server


class Client:
    def __init__(self, server: str, token: str | None = None, timeout: float = 60):
        self._server = server.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._opener = urllib.request.build_opener(_NoRedirects)

    def _call(self, method: str, path: str, query: dict[str, Any], headers: dict[str, Any], body: bytes | None = None, media: str | None = None) -> Reply[Any]:
        pairs = [(k, "true" if v is True else "false" if v is False else v) for k, v in query.items() if v is not None]
        url = self._server + path
        if pairs:
            url += "?" + urllib.parse.urlencode(pairs, doseq=True)
        request = urllib.request.Request(url, data=body, method=method)
        for name, value in headers.items():
            if value is not None:
                request.add_header(name, value)
        if media is not None:
            request.add_header("Content-Type", media)
        if self._token is not None:
            request.add_header("Authorization", "Bearer " + self._token)
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                data = response.read()
                if response.headers.get_content_type() == "application/json":
                    data = json.loads(data)
                return Reply(response.status, response.headers, data)
        except urllib.error.HTTPError as error:
            with error:
                problem = json.loads(error.read()) if error.headers.get_content_type() == "application/problem+json" else None
                raise ProblemError(error.code, error.headers, problem) from None
`

func pySchema(b *strings.Builder, name string, s *schema) {
	if slices.ContainsFunc(sorted(s.Properties), pyKeyword) {
		pyFunctional(b, name, s)
		return
	}
	fmt.Fprintf(b, "class %s(TypedDict):\n", name)
	for _, p := range sorted(s.Properties) {
		t := pyType(s.Properties[p])
		if !s.requires(p) {
			t = "NotRequired[" + t + "]"
		}
		fmt.Fprintf(b, "    %s: %s\n", p, t)
		if d := s.Properties[p].Description; d != "" {
			fmt.Fprintf(b, "    %s\n", pyDoc(d))
		}
	}
	if len(s.Properties) == 0 {
		b.WriteString("    pass\n")
	}
	b.WriteString("\n\n")
}

// pyFunctional writes a type with a field name that a class cannot have, such
// as "for".
func pyFunctional(b *strings.Builder, name string, s *schema) {
	fmt.Fprintf(b, "%s = TypedDict(%q, {\n", name, name)
	for _, p := range sorted(s.Properties) {
		t := strconv.Quote(pyType(s.Properties[p]))
		if !s.requires(p) {
			t = "NotRequired[" + t + "]"
		}
		if d := s.Properties[p].Description; d != "" {
			fmt.Fprintf(b, "    # %s\n", d)
		}
		fmt.Fprintf(b, "    %q: %s,\n", p, t)
	}
	b.WriteString("})\n\n\n")
}

func pyType(s *schema) string {
	if s == nil {
		return "Any"
	}
	if n := name(s); n != "" {
		return n
	}
	var names []string
	for _, t := range s.Type {
		names = append(names, pyPlain(s, t))
	}
	if len(names) == 0 {
		return "Any"
	}
	return strings.Join(names, " | ")
}

func pyPlain(s *schema, t string) string {
	switch {
	case len(s.Enum) > 0 && t != "null":
		quoted := make([]string, len(s.Enum))
		for i, word := range s.Enum {
			quoted[i] = strconv.Quote(word)
		}
		return "Literal[" + strings.Join(quoted, ", ") + "]"
	case t == "array":
		return "list[" + pyType(s.Items) + "]"
	case t == "object" && s.Additional.schema != nil:
		return "dict[str, " + pyType(s.Additional.schema) + "]"
	}
	return map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict[str, Any]", "null": "None"}[t]
}

func pyOperation(b *strings.Builder, op operation) {
	args := []string{"self"}
	path := strconv.Quote(op.path)
	for _, p := range op.inPath {
		args = append(args, pyName(p.Name)+": "+pyType(p.Schema))
		path = strings.Replace(path, "{"+p.Name+"}", `" + urllib.parse.quote(`+pyName(p.Name)+`, safe="") + "`, 1)
	}
	path = strings.TrimSuffix(path, ` + ""`)
	rest := ""
	switch {
	case op.body.media == "":
	case op.body.schema != nil && op.body.required:
		args = append(args, "body: "+pyType(op.body.schema))
		rest = `, json.dumps(body).encode(), "application/json"`
	case op.body.schema != nil:
		args = append(args, "body: "+pyType(op.body.schema)+" | None = None")
		rest = `, None if body is None else json.dumps(body).encode(), None if body is None else "application/json"`
	default:
		args = append(args, "body: bytes | None", "content_type: str | None")
		rest = ", body, content_type"
	}
	if len(op.options) > 0 {
		args = append(args, "*")
	}
	for _, p := range op.options {
		arg := pyName(p.Name) + ": " + pyType(p.Schema)
		if !p.Required {
			arg += " | None = None"
		}
		args = append(args, arg)
	}
	reply := "bytes"
	if op.reply != nil {
		reply = pyType(op.reply)
	}
	fmt.Fprintf(b, "\n    def %s(%s) -> Reply[%s]:\n", pyName(op.id), strings.Join(args, ", "), reply)
	if op.summary != "" {
		fmt.Fprintf(b, "        %s\n", pyDoc(op.summary))
	}
	fmt.Fprintf(b, "        return self._call(%q, %s, %s, %s%s)\n", op.method, path, pyPick(op.options, "query"), pyPick(op.options, "header"), rest)
}

// pyPick returns the options for the query or the header, by the document's
// names.
func pyPick(options []parameter, in string) string {
	var fields []string
	for _, p := range options {
		if p.In == in {
			fields = append(fields, strconv.Quote(p.Name)+": "+pyName(p.Name))
		}
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// pyName returns a name as a variable: "If-Match" becomes if_match,
// "createTask" becomes create_task, and "from" becomes from_.
func pyName(name string) string {
	var b strings.Builder
	for i, r := range strings.Join(words(name), "_") {
		if r >= 'A' && r <= 'Z' {
			if i > 0 && !strings.HasSuffix(b.String(), "_") {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	if pyKeyword(b.String()) {
		b.WriteByte('_')
	}
	return b.String()
}

// pyKeyword reports whether name is a Python keyword that may be a name in the
// document.
func pyKeyword(name string) bool {
	return slices.Contains([]string{"from", "in", "is", "not", "and", "or", "for", "if", "with", "as", "class", "def", "global", "import", "pass"}, name)
}

func pyDoc(text string) string {
	return `"""` + strings.NewReplacer(`\`, `\\`, `"""`, `'''`).Replace(strings.TrimSuffix(text, `"`)) + `"""`
}
