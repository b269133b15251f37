package main

import (
	"fmt"
	"strconv"
	"strings"
)

// typescript returns the client in TypeScript. Its types can be erased, so Node
// 22.18 or newer runs the client without a build.
func typescript(a *api) string {
	var b strings.Builder
	fmt.Fprintf(&b, tsHead, a.title, a.problem)
	for _, n := range sorted(a.schemas) {
		tsSchema(&b, n, a.schemas[n])
	}
	b.WriteString(tsClient)
	for _, op := range a.operations {
		tsOperation(&b, op)
	}
	b.WriteString("}\n")
	return b.String()
}

const tsHead = `// Written from the OpenAPI document of %s. Do not edit.

/** A reply. Its status distinguishes the kinds of success. */
export interface Reply<T> {
  status: number;
  headers: Headers;
  body: T;
}

/** The server's refusal. */
export class ProblemError extends Error {
  readonly status: number;
  readonly headers: Headers;
  readonly problem: %[2]s | undefined;

  constructor(status: number, headers: Headers, problem: %[2]s | undefined) {
    super(problem ? problem.code + ": " + problem.detail : "status " + status);
    this.status = status;
    this.headers = headers;
    this.problem = problem;
  }
}

`

const tsClient = `export class Client {
  private readonly server: string;
  private readonly token: string | undefined;

  constructor(server: string, token?: string) {
    this.server = server.replace(/\/+$/, "");
    this.token = token;
  }

  private async call<T>(method: string, path: string, query: Record<string, unknown>, headers: Record<string, unknown>, body?: BodyInit, media?: string): Promise<Reply<T>> {
    const url = new URL(this.server + path);
    for (const [name, value] of Object.entries(query)) {
      for (const v of Array.isArray(value) ? value : [value]) {
        if (v !== undefined) url.searchParams.append(name, String(v));
      }
    }
    const sent = new Headers();
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined) sent.set(name, String(value));
    }
    if (media !== undefined) sent.set("Content-Type", media);
    if (this.token !== undefined) sent.set("Authorization", "Bearer " + this.token);
    const response = await fetch(url, { method, headers: sent, body, redirect: "error" });
    const type = (response.headers.get("Content-Type") ?? "").split(";")[0];
    if (!response.ok) {
      const problem = type === "application/problem+json" ? await response.json() : undefined;
      throw new ProblemError(response.status, response.headers, problem);
    }
    const reply = type === "application/json" ? await response.json() : await response.arrayBuffer();
    return { status: response.status, headers: response.headers, body: reply as T };
  }
`

func tsSchema(b *strings.Builder, name string, s *schema) {
	fmt.Fprintf(b, "export interface %s {\n", name)
	for _, p := range sorted(s.Properties) {
		tsDoc(b, "  ", s.Properties[p].Description)
		optional := "?"
		if s.requires(p) {
			optional = ""
		}
		fmt.Fprintf(b, "  %s%s: %s;\n", tsKey(p), optional, tsType(s.Properties[p]))
	}
	b.WriteString("}\n\n")
}

func tsType(s *schema) string {
	if s == nil {
		return "unknown"
	}
	if n := name(s); n != "" {
		return n
	}
	var names []string
	for _, t := range s.Type {
		names = append(names, tsPlain(s, t))
	}
	if len(names) == 0 {
		return "unknown"
	}
	return strings.Join(names, " | ")
}

func tsPlain(s *schema, t string) string {
	switch {
	case len(s.Enum) > 0 && t != "null":
		quoted := make([]string, len(s.Enum))
		for i, word := range s.Enum {
			quoted[i] = strconv.Quote(word)
		}
		return strings.Join(quoted, " | ")
	case t == "integer":
		return "number"
	case t == "array":
		return "Array<" + tsType(s.Items) + ">"
	case t == "object" && s.Additional.schema != nil:
		return "Record<string, " + tsType(s.Additional.schema) + ">"
	case t == "object":
		return "Record<string, unknown>"
	}
	return t // string, number, boolean and null have the same name
}

func tsOperation(b *strings.Builder, op operation) {
	var args []string
	path := strconv.Quote(op.path)
	for _, p := range op.inPath {
		args = append(args, tsName(p.Name)+": "+tsType(p.Schema))
		path = strings.Replace(path, "{"+p.Name+"}", `" + encodeURIComponent(`+tsName(p.Name)+`) + "`, 1)
	}
	path = strings.TrimSuffix(path, ` + ""`)
	bodyArg, media, rest := "", "", ""
	switch {
	case op.body.media == "":
	case op.body.schema != nil:
		args = append(args, "body"+mark(op.body.required)+": "+tsType(op.body.schema))
		bodyArg, media = "body === undefined ? undefined : JSON.stringify(body)", `body === undefined ? undefined : "application/json"`
		if op.body.required {
			bodyArg, media = "JSON.stringify(body)", `"application/json"`
		}
	default:
		args = append(args, "body: BodyInit | undefined", "contentType: string | undefined")
		bodyArg, media = "body", "contentType"
	}
	if bodyArg != "" {
		rest = ", " + bodyArg + ", " + media
	}
	if len(op.options) > 0 {
		args = append(args, tsOptions(op.options))
	}
	b.WriteByte('\n')
	tsDoc(b, "  ", op.summary)
	reply := "ArrayBuffer"
	if op.reply != nil {
		reply = tsType(op.reply)
	}
	fmt.Fprintf(b, "  async %s(%s): Promise<Reply<%s>> {\n", op.id, strings.Join(args, ", "), reply)
	fmt.Fprintf(b, "    return this.call(%q, %s, %s, %s%s);\n  }\n", op.method, path, tsPick(op.options, "query"), tsPick(op.options, "header"), rest)
}

// tsOptions returns the last parameter: the named options, which may be
// required.
func tsOptions(options []parameter) string {
	fields := make([]string, len(options))
	must := false
	for i, p := range options {
		fields[i] = tsName(p.Name) + mark(p.Required) + ": " + tsType(p.Schema)
		must = must || p.Required
	}
	arg := "options: { " + strings.Join(fields, "; ") + " }"
	if !must {
		arg += " = {}"
	}
	return arg
}

// tsPick returns the options for the query or the header, by the document's
// names.
func tsPick(options []parameter, in string) string {
	var fields []string
	for _, p := range options {
		if p.In == in {
			fields = append(fields, tsKey(p.Name)+": options."+tsName(p.Name))
		}
	}
	if len(fields) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(fields, ", ") + " }"
}

func mark(required bool) string {
	if required {
		return ""
	}
	return "?"
}

// tsName returns a name as a variable: "If-Match" becomes ifMatch.
func tsName(name string) string {
	parts := words(name)
	parts[0] = strings.ToLower(parts[0][:1]) + parts[0][1:]
	for i, p := range parts[1:] {
		parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "")
}

func tsKey(name string) string {
	if strings.ContainsAny(name, "-.") {
		return strconv.Quote(name)
	}
	return name
}

func tsDoc(b *strings.Builder, indent, text string) {
	if text != "" {
		fmt.Fprintf(b, "%s/** %s */\n", indent, strings.ReplaceAll(text, "*/", "*\u200b/"))
	}
}
