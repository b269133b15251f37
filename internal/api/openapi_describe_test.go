package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/foliot/foliot/internal/api/admission"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
)

const about = `Call this URL at this time: at least once, to the millisecond, cancellable until the last moment, retried, and never lost.

Requests are JSON and must be declared as such (application/json; with curl, --json). Unknown fields, query parameters and Foliot-… headers are refused, and so are
duplicate keys. Times are RFC 3339 and are rounded up to the millisecond; due times can also be local. Durations are 250ms, 90s, 1h30m or 3d; a day is 24 hours.

A 2xx reply to a change means that the change is durable. Errors are application/problem+json (RFC 9457) with a stable code; type is the URL of its documentation. There are no CORS headers:
requests from pages of other sites are refused, and so is a Host that the server does not know.

After the first token exists, every request needs one, except those for the health of the server: authorization: Bearer foliot_…. A token belongs to a namespace, or to an
operator. An operator's token is valid for all namespaces: the header Foliot-Namespace names one, and "default" is used without it. The scope of a token is read, write or admin, and each includes the ones before it.
A server without tokens serves only its own machine, and every caller is an operator.

A task sends a request to a URL (http), or calls the handler of its kind (work). It is scheduled, then running during an attempt, then finished: delivered, cancelled or expired. A task that gave up is dead, and can be retried.
Finished tasks are kept for 24 hours, without their body unless their queue keeps bodies. Dead tasks are kept complete for 30 days. Their queue can change both times. If
the creator of a task does not set timeout, expire_after, on_dead or retry, the task takes the defaults that its queue has at that moment.

A schedule creates tasks again and again, by a cron expression in a time zone, or after each interval. It creates one task at each instant, in the same durable step in which
the schedule advances. That task is like any other. Its name derives from the schedule and the instant.`

// Describe returns the content of openapi.json.
func Describe() ([]byte, error) {
	b, err := json.MarshalIndent(Document(), "", "  ")
	return append(b, '\n'), err
}

// Document makes the schemas from the types of package wire, and the operations
// from the routes.
func Document() *huma.OpenAPI {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI:    "3.1.0",
		Info:       &huma.Info{Title: "Foliot", Version: "dev", Description: about + "\n\n" + limits() + "\n" + codes(), License: &huma.License{Name: "MIT", Identifier: "MIT"}},
		Servers:    []*huma.Server{{URL: "http://127.0.0.1:8750", Description: "A server on this machine with the default address. For another server, use the address from which you got this document."}},
		Tags:       []*huma.Tag{{Name: "tasks"}, {Name: "schedules"}, {Name: "queues"}, {Name: "access"}, {Name: "namespaces"}, {Name: "server"}},
		Components: &huma.Components{Schemas: registry, SecuritySchemes: map[string]*huma.SecurityScheme{bearerScheme: scheme}},
	}
	d := describer{registry, map[*huma.Schema]bool{}}
	doc.Components.Responses = d.refusals()
	for _, r := range routes() {
		about, known := descriptions[r.method+" "+r.path]
		if !known {
			panic("describe " + r.method + " " + r.path + " in descriptions")
		}
		doc.AddOperation(d.operation(described{r, about}))
	}
	d.open()
	d.detail()
	return doc
}

// bearerScheme differs from all names of schemas in more than case, because
// generators make a type of each.
const bearerScheme = "bearer"

// scheme describes authentication. The roles of an operation are the scope that
// it needs, and "operator" if it needs an operator's token.
var scheme = &huma.SecurityScheme{
	Type: "http", Scheme: "bearer", BearerFormat: "foliot_ and 48 characters",
	Description: "A token with the scope that the operation names, or a larger one. If it names operator, an operator's token. A server without tokens requires none.",
}

func bytesText(n int) string {
	if n%(1<<20) == 0 {
		return strconv.Itoa(n>>20) + " MiB"
	}
	if n%(1<<10) == 0 {
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n) + " bytes"
}

func limits() string {
	rows := []struct{ limit, most string }{
		{"a task's body, or its arguments", bytesText(task.MaxBodyDefault) + " by default; --body-limit changes it"},
		{"a task's headers, names and values together", bytesText(task.MaxHeaderBytes)},
		{"a URL", bytesText(task.MaxURLLen)},
		{"a name", strconv.Itoa(task.MaxNameLen) + " characters"},
		{"a kind", strconv.Itoa(task.MaxKindLen) + " characters"},
		{"labels of a task", strconv.Itoa(task.MaxLabels)},
		{"a label's key, value", fmt.Sprintf("%d bytes, %d bytes", task.MaxLabelKeyLen, task.MaxLabelValueLen)},
		{"nesting of JSON", strconv.Itoa(task.MaxNesting)},
		{"a delay, any other duration", "100 years"},
		{"a timeout", timespan.Text(task.MaxTimeout)},
		{"max_attempts", strconv.Itoa(task.MaxAttemptsLimit)},
		{"a batch", fmt.Sprintf("%d tasks or calls, %s", task.MaxBatch, bytesText(task.MaxBatchBytes))},
		{"a page of a list", fmt.Sprintf("%d tasks, %s of bodies", maxLimit, bytesText(task.MaxPageBytes))},
		{"a schedule's name", strconv.Itoa(task.MaxScheduleName) + " characters"},
		{"every", "100 years; 1s at least"},
		{"jitter", "24h"},
		{"catchup_limit", strconv.Itoa(recurrence.MaxCatchupLimit)},
		{"instants of a backfill, of a preview", strconv.Itoa(maxBackfill)},
		{"an Idempotency-Key", strconv.Itoa(task.MaxIdempotencyKey) + " characters"},
		{"a wait", timespan.Text(maxWait)},
		{"requests of a namespace that wait at once", strconv.Itoa(admission.MaxPolls)},
		{"a request that changes a setting", bytesText(settingLimit)},
		{"the tokens of a namespace, including revoked ones", strconv.Itoa(settings.MaxTokens)},
		{"a token's label", strconv.Itoa(settings.MaxLabel) + " bytes"},
		{"signing secrets of a namespace, and of a queue", strconv.Itoa(settings.MaxSecrets)},
		{"queues of a namespace with signing secrets of their own", strconv.Itoa(settings.MaxSecretQueues)},
		{"failed logins of an address (IPv6: a /64)", strconv.Itoa(loginBurst) + " at once, then 10 a minute"},
	}
	var b strings.Builder
	b.WriteString("| limit | at most |\n| --- | --- |\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", r.limit, r.most)
	}
	return b.String()
}

func codes() string {
	var b strings.Builder
	b.WriteString("| code | status | meaning |\n| --- | --- | --- |\n")
	for _, p := range problemTypes {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", p.Code, p.Status, p.Meaning)
	}
	return b.String()
}

// described is a route with its description.
type described struct {
	route
	description
}

// describer makes operations from routes.
type describer struct {
	registry huma.Registry
	sent     map[*huma.Schema]bool // schemas of requests
}

func (d describer) operation(r described) *huma.Operation {
	op := &huma.Operation{
		Method: r.method, Path: r.path,
		OperationID: r.id, Summary: r.summary, Description: r.about, Tags: []string{r.tag},
		RequestBody: d.requestBody(r),
		Responses:   map[string]*huma.Response{"default": reference(anyProblem)},
	}
	for _, refused := range r.refusals() {
		op.Responses[strconv.Itoa(refused)] = reference(refusalName(refused))
	}
	for part := range strings.SplitSeq(r.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "path", Required: true, Description: pathParams[r.tag+" "+name], Schema: nameSchema()})
		}
	}
	for _, p := range r.query {
		op.Parameters = append(op.Parameters, p.describe("query"))
	}
	for _, p := range r.headers {
		op.Parameters = append(op.Parameters, p.describe("header"))
	}
	if !r.public {
		roles := []string{r.scope.String()}
		if r.operator {
			roles = append(roles, "operator")
		} else {
			op.Parameters = append(op.Parameters, namespaceHeader.describe("header"))
		}
		op.Security = []map[string][]string{{bearerScheme: roles}}
	}
	for _, reply := range r.replies {
		op.Responses[strconv.Itoa(reply.status)] = d.response(reply)
	}
	return op
}

// pathParams describe the parameters of paths, by tag and name.
var pathParams = map[string]string{
	"tasks name":      "The task's name.",
	"schedules name":  "The schedule's name, at most 200 characters.",
	"queues queue":    "The queue's name.",
	"access id":       "The id in the list.",
	"namespaces name": "The namespace's name.",
	"server node":     "The node's name in GET /v1/cluster.",
}

func (d describer) requestBody(r described) *huma.RequestBody {
	if r.body == nil {
		return nil
	}
	media := r.bodies
	if len(media) == 0 {
		media = []string{jsonType}
	}
	_, anything := r.body.([]byte)
	body := &huma.RequestBody{Required: !anything && !r.optional, Content: map[string]*huma.MediaType{}}
	for _, m := range media {
		body.Content[m] = &huma.MediaType{}
		if !anything {
			body.Content[m].Schema = d.schema(r.body)
			d.send(body.Content[m].Schema)
		}
	}
	return body
}

func (d describer) response(r reply) *huma.Response {
	response := &huma.Response{Description: r.about, Headers: map[string]*huma.Param{}}
	if r.body != nil {
		media := cmp.Or(r.media, jsonType)
		response.Content = map[string]*huma.MediaType{media: {}}
		if _, bytes := r.body.([]byte); !bytes {
			response.Content[media].Schema = d.schema(r.body)
		}
	}
	if r.events {
		response.Content[eventStreamType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	if r.tagged {
		response.Headers["ETag"] = textHeader("The version of the record, for If-Match.")
	}
	if r.placed {
		response.Headers["Location"] = textHeader("The path of the record.")
	}
	return response
}

func textHeader(about string) *huma.Param {
	return &huma.Param{Description: about, Schema: &huma.Schema{Type: huma.TypeString}}
}

func (d describer) schema(v any) *huma.Schema {
	return d.registry.Schema(reflect.TypeOf(v), true, "")
}

// send notes that requests contain a schema and the schemas in it.
func (d describer) send(s *huma.Schema) {
	if s.Ref != "" {
		s = d.registry.SchemaFromRef(s.Ref)
		if d.sent[s] {
			return
		}
		d.sent[s] = true
	}
	for _, field := range s.Properties {
		d.send(field)
	}
	if s.Items != nil {
		d.send(s.Items)
	}
}

// open allows further fields in replies, because a client must ignore fields that
// it does not know, while schemas of requests stay closed.
func (d describer) open() {
	for _, schema := range d.registry.Map() {
		if !d.sent[schema] {
			schema.AdditionalProperties = nil
		}
	}
	// Names that Foliot makes contain an @ and can be longer than those of clients.
	name := d.registry.Schema(reflect.TypeFor[wire.Task](), false, "").Properties["name"]
	name.Pattern, name.MaxLength = `^[0-9A-Za-z][0-9A-Za-z._:@-]*$`, nil
	d.always(wire.Task{}, "name", "queue", "timeout", "priority", "retry")
	d.always(wire.Schedule{}, "missed", "catchup_window", "catchup_limit", "overlap", "paused", "runs")
}

// always marks fields as required in replies that are optional in requests.
func (d describer) always(v any, fields ...string) {
	shown := d.registry.Schema(reflect.TypeOf(v), false, "")
	for _, field := range fields {
		if !slices.Contains(shown.Required, field) {
			shown.Required = append(shown.Required, field)
		}
	}
	slices.Sort(shown.Required)
}

// detail adds the facts that only this package knows: the pattern of durations
// and the codes of problems.
func (d describer) detail() {
	for _, schema := range d.registry.Map() {
		for _, field := range schema.Properties {
			if field.Pattern == duration {
				field.Pattern = durationPattern
			}
		}
	}
	for _, v := range []any{wire.Problem{}, wire.BatchResult{}} {
		code := d.registry.Schema(reflect.TypeOf(v), false, "").Properties["code"]
		for _, p := range problemTypes {
			code.Enum = append(code.Enum, p.Code)
		}
	}
}

// durationPattern is the grammar of parseDuration, for clients that check their
// requests, without a bound on the value.
const durationPattern = `^[-+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(d|ns|us|µs|μs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*)$`

func (p param) describe(in string) *huma.Param {
	schema := &huma.Schema{Type: huma.TypeString, Format: p.format}
	switch p.format {
	case duration:
		schema = &huma.Schema{Type: huma.TypeString, Pattern: durationPattern}
	case "integer":
		low, high := float64(p.low), float64(p.high)
		schema = &huma.Schema{Type: huma.TypeInteger, Minimum: &low, Maximum: &high}
	case "boolean":
		schema = &huma.Schema{Type: huma.TypeBoolean}
	}
	for _, word := range p.enum {
		schema.Enum = append(schema.Enum, word)
	}
	if p.repeated {
		schema = &huma.Schema{Type: huma.TypeArray, Items: schema}
	}
	return &huma.Param{Name: p.name, In: in, Description: p.about, Required: p.required, Schema: schema}
}

func nameSchema() *huma.Schema {
	longest := task.MaxNameLen
	return &huma.Schema{Type: huma.TypeString, MaxLength: &longest}
}
