package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

const about = `Call this URL at this time: at least once, to the millisecond, cancellable until the last moment, retried, and never lost.

Requests are JSON and say so (application/json; with curl, --json). Fields, query parameters and Foliot-… headers that are not known are refused, as are
keys given twice. Times are RFC 3339 and are rounded up to the millisecond; durations are as Go writes them: 90s, 1h30m, 250ms.

A 2xx on a change means that it is durable. Errors are application/problem+json (RFC 9457) with a stable code. There are no CORS headers: requests from
other sites' pages are refused, as is a Host that the server is not called by.

Once there is a token, every request but those for the health of the server needs one: authorization: Bearer foliot_…. A token belongs to a namespace, or is an
operator's, which is good for all: it names one by the header Foliot-Namespace, "default" otherwise. Its scope is read, write or admin, each with the ones before it.
On a server without tokens, which serves its own machine only, everybody is an operator.

A task is scheduled, then running while an attempt is made, then finished: delivered, cancelled or expired. One that gave up is dead, and can be retried.
Finished tasks are kept for reading, without their body unless their queue keeps bodies, for 24 hours; dead ones for 30 days, with all they have; their queue may say otherwise. What a
task's creator leaves open (timeout, expire_after, on_dead, retry) is as its queue has it at that moment.

A schedule makes tasks again and again, by an expression of cron in a time zone, or after each interval. At an instant one task is made, in the same durable step in which
the schedule goes on; it is a task like any other, named after both.`

// describe returns the OpenAPI 3.1 document. The schemas come from package
// wire's types, the routes from the table that also serves them.
func (s *Server) describe(rs []route) []byte {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI:    "3.1.0",
		Info:       &huma.Info{Title: "Foliot", Version: s.cfg.Version, Description: about + "\n\n" + s.limits() + "\n" + codes(), License: &huma.License{Name: "MIT", Identifier: "MIT"}},
		Servers:    []*huma.Server{{URL: "http://127.0.0.1:8750", Description: "One on this machine that was told nothing else. Any other: where this document came from."}},
		Tags:       []*huma.Tag{{Name: "tasks"}, {Name: "schedules"}, {Name: "queues"}, {Name: "access"}, {Name: "namespaces"}, {Name: "server"}},
		Components: &huma.Components{Schemas: registry, SecuritySchemes: map[string]*huma.SecurityScheme{bearerScheme: scheme}},
	}
	d := describer{registry: registry}
	doc.Components.Responses = d.refusals()
	for _, r := range rs {
		doc.AddOperation(d.operation(r))
	}
	d.open()
	d.detail()
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("api: encode the OpenAPI document: %v", err)) // it is the same each time: a test sees it
	}
	return append(b, '\n')
}

const bearerScheme = "token"

// scheme is how one logs in. Each operation names, as its role, the scope that
// it takes, and "operator" where it takes an operator's token.
var scheme = &huma.SecurityScheme{
	Type: "http", Scheme: "bearer", BearerFormat: "foliot_ and 48 characters",
	Description: "A token of the scope that the operation names, or of one that includes it; where it names operator, an operator's. A server without any token asks for none.",
}

// limits is the documented table of them.
func (s *Server) limits() string {
	rows := []struct{ what, most string }{
		{"a task's body", bytesText(s.cfg.BodyLimit)},
		{"a task's headers, names and values together", bytesText(task.MaxHeaderBytes)},
		{"a URL", bytesText(task.MaxURLLen)},
		{"a name", strconv.Itoa(task.MaxNameLen) + " characters"},
		{"labels of a task", strconv.Itoa(task.MaxLabels)},
		{"a label's key, value", fmt.Sprintf("%d bytes, %d bytes", task.MaxLabelKeyLen, task.MaxLabelValueLen)},
		{"nesting of JSON", strconv.Itoa(task.MaxNesting)},
		{"a delay, any other duration", "100 years"},
		{"a timeout", task.MaxTimeout.String()},
		{"max_attempts", strconv.Itoa(task.MaxAttemptsLimit)},
		{"a batch", fmt.Sprintf("%d tasks, %s", task.MaxBatch, bytesText(task.MaxBatchBytes))},
		{"a page of a list", fmt.Sprintf("%d tasks, %s of bodies", maxLimit, bytesText(task.MaxPageBytes))},
		{"a schedule's name", strconv.Itoa(task.MaxScheduleName) + " characters"},
		{"every", "100 years; 1s at least"},
		{"jitter", "24h"},
		{"catchup_limit", strconv.Itoa(task.MaxCatchupLimit)},
		{"instants of a backfill, of a preview", strconv.Itoa(maxBackfill)},
		{"an Idempotency-Key", strconv.Itoa(task.MaxIdempotencyKey) + " characters"},
		{"a wait", maxWait.String()},
		{"requests that wait at once", strconv.Itoa(maxPolls) + ", of one namespace half of them"},
		{"a request that changes a setting", bytesText(settingLimit)},
		{"the tokens of a namespace, revoked ones included", strconv.Itoa(task.MaxTokens)},
		{"a token's label", strconv.Itoa(task.MaxLabel) + " bytes"},
		{"signing secrets of a namespace, and of a queue", strconv.Itoa(task.MaxSecrets)},
		{"queues of a namespace with signing secrets of their own", strconv.Itoa(task.MaxSecretQueues)},
		{"failed logins of an address (IPv6: a /64)", strconv.Itoa(loginBurst) + " at once, then 10 a minute"},
	}
	var b strings.Builder
	b.WriteString("| limit | at most |\n| --- | --- |\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", r.what, r.most)
	}
	return b.String()
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

// codes is the documented table of problems.
func codes() string {
	var b strings.Builder
	b.WriteString("| code | status | when |\n| --- | --- | --- |\n")
	for _, p := range problems {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", p.Code, p.Status, p.When)
	}
	return b.String()
}

// describer turns routes into OpenAPI's operations.
type describer struct{ registry huma.Registry }

func (d describer) operation(r route) *huma.Operation {
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

// pathParams say what the parts of paths are, by tag and name.
var pathParams = map[string]string{
	"tasks name":      "The task's name.",
	"schedules name":  "The schedule's name, at most 200 characters.",
	"queues queue":    "The queue's name.",
	"access id":       "Its id, as the list shows it.",
	"namespaces name": "The namespace's name.",
	"server node":     "The node's name, as GET /v1/cluster shows it.",
}

func (d describer) requestBody(r route) *huma.RequestBody {
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
		}
	}
	return body
}

func (d describer) response(r reply) *huma.Response {
	response := &huma.Response{Description: r.about, Headers: map[string]*huma.Param{}}
	if r.body != nil {
		media := r.media
		if media == "" {
			media = jsonType
		}
		response.Content = map[string]*huma.MediaType{media: {}}
		if _, bytes := r.body.([]byte); !bytes {
			response.Content[media].Schema = d.schema(r.body)
		}
	}
	if r.tagged {
		response.Headers["ETag"] = textHeader("The version of what is shown, for If-Match.")
	}
	if r.placed {
		response.Headers["Location"] = textHeader("Where it is.")
	}
	return response
}

func textHeader(about string) *huma.Param {
	return &huma.Param{Description: about, Schema: &huma.Schema{Type: huma.TypeString}}
}

func (d describer) schema(v any) *huma.Schema {
	return d.registry.Schema(reflect.TypeOf(v), true, "")
}

// open lets replies grow: a client must not break on a field it does not know.
func (d describer) open() {
	for _, v := range []any{
		wire.Task{},
		wire.Attempt{},
		wire.TaskList{},
		wire.BatchReply{},
		wire.BatchResult{},
		wire.BulkReply{},
		wire.Health{},
		wire.Problem{},
		wire.Schedule{},
		wire.SkippedInstants{},
		wire.ScheduleList{},
		wire.BackfillReply{},
		wire.Preview{},
		wire.Instant{},
		wire.Queue{},
		wire.QueueList{},
		wire.Counts{},
		wire.Token{},
		wire.TokenList{},
		wire.Secret{},
		wire.SecretList{},
		wire.Namespace{},
		wire.NamespaceList{},
		wire.AuditEntry{},
		wire.AuditList{},
		wire.Live{},
		wire.LiveQueue{},
		wire.LiveDestination{},
		wire.Lateness{},
		wire.AttemptTotals{},
		wire.Cluster{},
		wire.Node{},
		wire.ShardList{},
		wire.Shard{},
	} {
		d.registry.Schema(reflect.TypeOf(v), false, "").AdditionalProperties = nil
	}
	d.always(wire.Task{}, "name", "queue", "timeout", "priority", "retry")
	d.always(wire.Schedule{}, "misfire", "catchup_window", "catchup_limit", "overlap", "paused", "runs")
}

// always says of fields that may be left out when something is created that it has them afterwards.
func (d describer) always(v any, fields ...string) {
	shown := d.registry.Schema(reflect.TypeOf(v), false, "")
	for _, field := range fields {
		if !slices.Contains(shown.Required, field) {
			shown.Required = append(shown.Required, field)
		}
	}
	slices.Sort(shown.Required)
}

// duration marks what is one, in package wire's tags and in params.
const duration = "duration"

// detail adds what package wire's tags cannot say, as it is decided here: how
// durations are written, and which codes problems have.
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
		for _, p := range problems {
			code.Enum = append(code.Enum, p.Code)
		}
	}
}

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
