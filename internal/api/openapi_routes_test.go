package api

import (
	"net/http"
	"slices"

	"github.com/foliot/foliot/internal/wire"
)

// description describes a route for OpenAPI.
type description struct {
	id, summary, about string
	tag                string

	headers []param // headers with a description
	body    any     // a value of the body's type; nil means none
	bodies  []string
	replies []reply

	optional      bool // the body is optional
	extra         bool // not on every server: 501
	unprocessable bool // the request may be too large for one step: 422
	mayConflict   bool // a GET that may fail in the present state: 409
}

// reply is a successful reply of a route.
type reply struct {
	status int
	about  string
	body   any    // a value of its type; nil means none
	media  string // default: application/json
	events bool   // can also be a stream of events
	tagged bool   // has an ETag
	placed bool   // has a Location
}

// shows returns the description of a reply with a task.
func shows(status int, about string) reply { return showsRecord(wire.Task{}, status, about) }

// showsRecord returns the description of a reply with a record that has an entity tag.
func showsRecord(record any, status int, about string) reply {
	return reply{status: status, about: about, body: record, tagged: true, placed: status == http.StatusCreated}
}

var (
	idempotencyHeader    = param{name: "Idempotency-Key", about: "1 to 256 printable ASCII characters. A repeat with the same key and meaning creates nothing, whatever its encoding; another request is refused. Without a name, the task's name derives from the key."}
	idempotencyPutHeader = param{name: "Idempotency-Key", about: "1 to 256 printable ASCII characters. A repeat with the same key and request changes nothing, even if the task has finished or was replaced since. Another request is refused."}
	namespaceHeader      = param{name: wire.NamespaceHeader, about: "For an operator's token: the namespace of the request. Absent: \"default\", or all namespaces where the route says so. Other tokens have a fixed namespace."}
	ifMatchHeader        = param{name: "If-Match", about: "Entity tags, or *: 412 unless the record has one of them."}
	ifNoneMatchHeader    = param{name: "If-None-Match", about: "*: 412 if the record exists.", enum: []string{"*"}}
)

// behind describes the reply to an edit that some nodes have not applied.
const behind = "As 200, but after two seconds the nodes in unconfirmed had not applied the change. They claim no task before they have. Repeat the request to see if they have."

// byFilter describes the changes by filter.
const byFilter = "Selects by the filters of the list, which must all match. Requires a filter, or all=true. " +
	"Changes the tasks page by page, in the order of their names, and each page is durable before the next. A request that ends early has changed a part, and can be repeated. " +
	"With expect the tasks are counted first, and tasks that begin to match later are not changed. "

var (
	conditions = []param{ifMatchHeader}
	created    = shows(201, "Created, and durable. The reply to a repeat with the same Idempotency-Key is the task that the first create made.")
	bulk       = []reply{{status: 200, about: "The number of changed tasks.", body: wire.BulkReply{}}}
)

// batchInput is the body of a batch, which has tasks or calls.
type batchInput struct {
	Tasks []wire.TaskInput `json:"tasks,omitempty" nullable:"false" maxItems:"1000" doc:"Tasks to create. The results only name them. Without a name, a repeated batch creates a task twice."`
	Calls []batchCall      `json:"calls,omitempty" nullable:"false" maxItems:"1000" doc:"Calls, in place of tasks. Two calls about one task are made in their order."`
}

// batchCall is one call of a batch, with exactly one verb, and what a single request
// has as its headers.
type batchCall struct {
	Create *wire.TaskInput `json:"create,omitempty" doc:"As POST /v1/tasks."`
	Put    *wire.TaskInput `json:"put,omitempty" doc:"As PUT /v1/tasks/{name}. The task must have a name."`
	Cancel string          `json:"cancel,omitempty" maxLength:"256" doc:"The name of a task, as DELETE /v1/tasks/{name}."`
	Touch  string          `json:"touch,omitempty" maxLength:"256" doc:"The name of a task, as POST /v1/tasks/{name}/touch."`

	Key         string `json:"key,omitempty" maxLength:"256" doc:"The Idempotency-Key of a create or put. A single request with the same key and task is a repeat of the call, and the other way round."`
	IfMatch     string `json:"if_match,omitempty" example:"\"0197c2f0-5b1e-7f3a-9c1d-2a4b6c8d0e1f.1\"" doc:"As the header If-Match, with the quotes. Not with create."`
	IfNoneMatch string `json:"if_none_match,omitempty" enum:"*" doc:"As the header If-None-Match. Not with create."`
}

// descriptions has the description of each route, by its method and its path.
var descriptions = map[string]description{
	"POST " + tasksPath: {
		tag: "tasks", id: "createTask", summary: "Create a task",
		headers: []param{idempotencyHeader},
		body:    wire.TaskInput{},
		replies: []reply{created},
	},
	"POST " + tasksPath + "/batch": {
		tag: "tasks", id: "createTasks", summary: "Create up to 1000 tasks, or make up to 1000 calls",
		about: "Not atomic: each item is made or refused by itself, with the checks, rates and conditions of a single request, but all of them cost one durable write. " +
			"The results have the order of the items. At most 16 MiB. Invalid JSON refuses the whole batch; any other error in an item refuses only that item.",
		body:    batchInput{},
		replies: []reply{{status: 200, about: "A result for each item.", body: wire.BatchReply{}}},
	},
	"PUT " + taskPath: {
		tag: "tasks", id: "putTask", summary: "Create or replace a task",
		about: "If an attempt of the old task is under way, the new task starts after that attempt, with any outcome. " +
			"Without an Idempotency-Key each PUT makes a new task, so a PUT that a client or a proxy repeats may be delivered twice.",
		headers: []param{ifMatchHeader, ifNoneMatchHeader, idempotencyPutHeader},
		body:    wire.TaskInput{},
		replies: []reply{
			shows(200, "Replaced, and durable. under_way is true if an attempt of the old task may be under way, or may still begin. A repeat with the same Idempotency-Key changes nothing: the reply is the present task, and If-Match and If-None-Match are ignored."),
			shows(201, "Created, and durable."),
		},
	},
	"POST " + wire.Version + "/publish": {
		tag: "tasks", id: "publish", summary: "Forward this request, later",
		about: "Creates a task that POSTs this body, of any content type, to url. The task sends the headers that describe the body " +
			"(Content-Type, Content-Encoding, Content-Language, Content-Disposition, Content-Digest), and each Foliot-Forward-<header> without that prefix, " +
			"which takes precedence: Foliot-Forward-Authorization: Bearer x is sent as Authorization: Bearer x. No other header is sent, because proxies add some that no receiver must see. " +
			"Without Foliot-Delay and Foliot-At the task is due now.",
		headers: append(slices.Clone(publishHeaders), idempotencyHeader),
		body:    []byte(nil),
		bodies:  []string{"*/*"},
		replies: []reply{created},
	},
	"GET " + taskPath: {
		tag: "tasks", id: "getTask", summary: "Read a task",
		about:   "The entity tag counts changes by clients. Attempts and the states after them do not change it. It is for If-Match; a read always returns the whole task.",
		replies: []reply{shows(200, "The task, with its body.")},
	},
	"PATCH " + taskPath: {
		tag: "tasks", id: "patchTask", summary: "Change some fields of a task",
		about: "A merge patch (RFC 7396) with two differences: labels and headers as a whole cannot be null, and a JSON body is replaced, not merged. " +
			"During an attempt the due time cannot change, and other changes take effect at the next attempt. A dead task stays dead.",
		headers: conditions,
		body:    TaskPatch{},
		bodies:  []string{jsonType, mergePatchType},
		replies: []reply{shows(200, "Changed, and durable. under_way is true if an attempt of the old version may be under way, or may still begin.")},
	},
	"POST " + taskPath + "/touch": {
		tag: "tasks", id: "touchTask", summary: "Restart the delay of a task, as a heartbeat of a watchdog does",
		headers: conditions,
		replies: []reply{shows(200, "Due after its delay from now, with 0 attempts.")},
	},
	"POST " + taskPath + "/run": {
		tag: "tasks", id: "runTask", summary: "Make a task due now",
		headers: conditions,
		replies: []reply{shows(200, "Due now. The task ignores pause and rate, but not concurrency.")},
	},
	"POST " + taskPath + "/retry": {
		tag: "tasks", id: "retryTask", summary: "Retry a dead task, or a finished one if its queue keeps bodies",
		headers: conditions,
		replies: []reply{shows(200, "Due now, with 0 attempts and the same id.")},
	},
	"DELETE " + taskPath: {
		tag: "tasks", id: "cancelTask", summary: "Cancel a task",
		headers: conditions,
		replies: []reply{
			shows(200, "Cancelled: no attempt starts after this reply, and under_way is absent. If the task was cancelled before, already is true."),
			shows(202, "under_way is true: an attempt is, or may be, under way. No retry follows it, and the task ends delivered or cancelled."),
		},
	},
	"GET " + tasksPath: {
		tag: "tasks", id: "listTasks", summary: "List tasks",
		about:   "The order is not specified. A page may be short or empty and still have a next_cursor, because a request examines only a part of many records.",
		replies: []reply{{status: 200, about: "A page of tasks.", body: TaskList{}}},
	},
	"POST " + tasksPath + "/cancel": {
		tag: "tasks", id: "cancelTasks", summary: "Cancel the tasks that match",
		about:   byFilter + "Without state: all tasks that are not finished.",
		replies: bulk,
	},
	"POST " + tasksPath + "/retry": {
		tag: "tasks", id: "retryTasks", summary: "Retry the dead tasks that match",
		about:   byFilter + "Without state: dead tasks. Finished tasks can be retried if their queue kept their bodies; others are skipped.",
		replies: bulk,
	},
	"POST " + tasksPath + "/move": {
		tag: "tasks", id: "moveTasks", summary: "Change the due times of the tasks that match",
		about: byFilter + "Without state: scheduled tasks. Running and finished tasks are skipped. " +
			"With by, a repeat moves tasks again that still match: bound the filter with due_before or due_after.",
		body:    wire.MoveInput{},
		replies: bulk,
	},
	"GET /healthz": {
		tag: "server", id: "healthz", summary: "Check that the process is alive",
		replies: []reply{{status: 200, about: "Alive.", body: wire.Health{}}},
	},
	"GET /readyz": {
		tag: "server", id: "readyz", summary: "Check that the server accepts requests",
		about:   "503 if the store stopped, cannot be reached, or was emptied or replaced; if the server is stopping; or if another live server has its node name.",
		replies: []reply{{status: 200, about: "Ready.", body: wire.Health{}}},
	},
	"GET /openapi.json": {
		tag: "server", id: "openapi", summary: "This document",
		replies: []reply{{status: 200, about: "OpenAPI 3.1.", body: map[string]any{}}},
	},
	"GET " + schedulesPath: {
		tag: "schedules", id: "listSchedules", summary: "List schedules",
		about:   "In the order of their names.",
		replies: []reply{{status: 200, about: "A page of schedules.", body: ScheduleList{}}},
	},
	"GET " + schedulePath: {
		tag: "schedules", id: "getSchedule", summary: "Read a schedule",
		about:   "The entity tag counts changes by clients, not the steps of the schedule. It is for If-Match; a read always returns the whole schedule.",
		replies: []reply{showsRecord(wire.Schedule{}, 200, "The schedule, with the body of its tasks.")},
	},
	"PUT " + schedulePath: {
		tag: "schedules", id: "putSchedule", summary: "Create or change a schedule",
		about: "Replaces all fields. The id, the runs and a pause stay. Instants that fired do not fire again, and existing tasks stay as they are. " +
			"A new schedule, and one with other instants than before, begins with the first instant after the PUT.",
		headers: []param{ifMatchHeader, ifNoneMatchHeader},
		body:    wire.ScheduleInput{},
		replies: []reply{showsRecord(wire.Schedule{}, 200, "Changed, and durable."), showsRecord(wire.Schedule{}, 201, "Created, and durable.")},
	},
	"DELETE " + schedulePath: {
		tag: "schedules", id: "deleteSchedule", summary: "Delete a schedule",
		about:   "Its tasks stay: cancel them if they must not run.",
		headers: []param{ifMatchHeader},
		replies: []reply{showsRecord(wire.Schedule{}, 200, "The deleted schedule. It creates no task after this reply.")},
	},
	"POST " + schedulePath + "/pause": {
		tag: "schedules", id: "pauseSchedule", summary: "Pause a schedule",
		about:   "It creates no task until it is resumed, except by a trigger or backfill. Existing tasks go on. Pausing again changes nothing.",
		headers: []param{ifMatchHeader},
		replies: []reply{showsRecord(wire.Schedule{}, 200, "Paused, and durable.")},
	},
	"POST " + schedulePath + "/resume": {
		tag: "schedules", id: "resumeSchedule", summary: "Resume a schedule",
		about:   "It continues with the next instant. The instants during the pause create no tasks, unless a backfill creates them. Resuming again changes nothing.",
		headers: []param{ifMatchHeader},
		replies: []reply{showsRecord(wire.Schedule{}, 200, "Resumed, and durable.")},
	},
	"POST " + schedulePath + "/trigger": {
		tag: "schedules", id: "triggerSchedule", summary: "Create a task of a schedule now",
		about:   "The task is due now, even if the schedule is paused or has ended, or another task of it is unfinished. For later instants it counts as an unfinished task. It does not count in runs.",
		headers: []param{idempotencyHeader, ifMatchHeader},
		replies: []reply{shows(201, "Created, and durable. The reply to a repeat with the same Idempotency-Key is the task that the first trigger created; If-Match is ignored.")},
	},
	"POST " + schedulePath + "/backfill": {
		tag: "schedules", id: "backfillSchedule", summary: "Create the tasks of past instants",
		about: "Creates a task for each instant of the rule between two times, even if it fired then, at most 1000. All are due now, and each carries its instant. Also works while the schedule is paused. " +
			"Not atomic: a request that ends early, for example at a quota, has created a part, and detail has the number. The same request again creates the rest, and none twice.",
		headers:       []param{ifMatchHeader},
		body:          wire.BackfillInput{},
		unprocessable: true,
		replies:       []reply{{status: 200, about: "The number of created tasks, which are durable.", body: wire.BackfillReply{}}},
	},
	"GET " + schedulePath + "/preview": {
		tag: "schedules", id: "previewSchedule", summary: "Preview the instants of a schedule",
		about:       "The instants of the rule from now on, or from another time, between start and end. Whether they fired or were paused does not matter. A preview from now on ends at max_runs. 409 if the server no longer knows the time zone of the schedule.",
		mayConflict: true,
		replies:     []reply{{status: 200, about: "The instants, the earliest first.", body: wire.Preview{}}},
	},
	"POST " + schedulesPath + "/preview": {
		tag: "schedules", id: "previewRule", summary: "Preview the instants of a rule",
		about: "Stores nothing. The body has the fields of a schedule that select instants. Without start and anchor, every counts from the earliest time of the request. " +
			"With an absence, the reply also has the missed instants that the schedule fires at its end, and those that it skips. Overlap does not count, because the end of the tasks is unknown.",
		body:    wire.ScheduleRule{},
		replies: []reply{{status: 200, about: "The instants, the earliest first.", body: wire.RulePreview{}}},
	},
	"GET " + queuesPath: {
		tag: "queues", id: "listQueues", summary: "List queues",
		about:   "Queues with settings or tasks, in the order of their names.",
		replies: []reply{{status: 200, about: "A page of queues.", body: QueueList{}}},
	},
	"GET " + queuePath: {
		tag: "queues", id: "getQueue", summary: "Read a queue",
		replies: []reply{showsRecord(wire.Queue{}, 200, "Its settings and counts. 404 if it has neither settings nor tasks.")},
	},
	"PUT " + queuePath: {
		tag: "queues", id: "putQueue", summary: "Set the limits, defaults and retention of a queue",
		about:   "Replaces all settings, except pause and purge. Limits and retention take effect at once, and defaults for tasks that are created later.",
		headers: []param{ifMatchHeader, ifNoneMatchHeader},
		body:    wire.QueueInput{},
		replies: []reply{showsRecord(wire.Queue{}, 200, "Replaced, and durable."), showsRecord(wire.Queue{}, 201, "Created, and durable."), showsRecord(wire.Queue{}, 202, behind)},
	},
	"DELETE " + queuePath: {
		tag: "queues", id: "deleteQueue", summary: "Delete the settings of a queue",
		about:   "Its tasks stay, with the server's defaults, and a paused queue resumes. Its signing secrets stay too: delete them separately. 409 during a purge.",
		headers: []param{ifMatchHeader},
		replies: []reply{showsRecord(wire.Queue{}, 200, "Deleted. The reply shows the queue without settings."), showsRecord(wire.Queue{}, 202, behind)},
	},
	"POST " + queuePath + "/pause": {
		tag: "queues", id: "pauseQueue", summary: "Pause a queue",
		about: "No attempt of the queue starts, except of tasks that are run by hand. Attempts under way go on. Tasks wait, are shown as held, " +
			"and spend no attempt. Pausing again changes the time at which the queue resumes by itself. A queue can be paused before it has tasks.",
		headers:  []param{ifMatchHeader, ifNoneMatchHeader},
		body:     wire.PauseInput{},
		optional: true,
		replies: []reply{
			showsRecord(wire.Queue{}, 200, "Paused, and durable."),
			showsRecord(wire.Queue{}, 201, "Paused, and durable. The queue had no settings before. If it has no tasks either, its name may be misspelled."),
			showsRecord(wire.Queue{}, 202, behind),
		},
	},
	"POST " + queuePath + "/resume": {
		tag: "queues", id: "resumeQueue", summary: "Resume a queue",
		about:   "Tasks that became due during the pause start at once, within the limits of the queue. 404 if it has neither settings nor tasks.",
		headers: []param{ifMatchHeader},
		replies: []reply{showsRecord(wire.Queue{}, 200, "Resumed, and durable."), showsRecord(wire.Queue{}, 202, behind)},
	},
	"POST " + queuePath + "/purge": {
		tag: "queues", id: "purgeQueue", summary: "Cancel all tasks of a queue",
		about: "Cancels in the background all tasks that are in the queue at the request and not finished, dead tasks included. The reply takes two seconds, and tasks that enter the queue after it stay. " +
			"Until that is done, no attempt of the queue starts. An attempt under way goes on, and no retry follows it. 404 if the queue has neither settings nor tasks. " +
			"With expect the unfinished tasks of the queue are counted first. A task that enters the queue between the count and the reply may be cancelled too.",
		headers: []param{ifMatchHeader},
		replies: []reply{showsRecord(wire.Queue{}, 202, "Durable: the purge also continues after a restart. purging of the queue is true until it is done.")},
	},
	"GET " + tokensPath: {
		tag: "access", id: "listTokens", summary: "List tokens",
		about:   "Includes revoked and expired tokens for as long as the audit log is kept (--audit-keep), but never the token itself. Without a namespace, an operator sees those of all namespaces.",
		replies: []reply{{status: 200, about: "A page of tokens, in the order of their ids.", body: TokenList{}}},
	},
	"POST " + tokensPath: {
		tag: "access", id: "createToken", summary: "Create a token",
		about: "Only this reply shows the token. After the first token exists, every request needs one. The first must be an operator's, with scope admin. " +
			"A token expires no later than its parent, the token that created it. Without expires_at and expires_in it expires together with its parent.",
		body:    wire.TokenInput{},
		replies: []reply{{status: 201, about: "The token and its record.", body: wire.Token{}, placed: true}},
	},
	"DELETE " + tokensPath + "/{id}": {
		tag: "access", id: "revokeToken", summary: "Revoke a token",
		about: "No server of the store accepts the token after this reply. A long poll with the token ends. Revoking again changes nothing. " +
			"Its children stay valid, so that a token can be replaced, unless children=true. The reply counts them. If the token leaked, revoke them too. " +
			"409 last_admin_token for the last operator's token with scope admin that is neither revoked nor expired: without it no token could manage the server.",
		replies: []reply{{status: 200, about: "Revoked, and durable.", body: wire.Token{}}, {status: 202, about: behind, body: wire.Token{}}},
	},
	"GET " + wire.Version + "/whoami": {
		tag: "access", id: "whoami", summary: "Show the caller's token and rights",
		about:   "Also shows the server that replies, and its clock.",
		replies: []reply{{status: 200, about: "The caller and the server.", body: wire.Identity{}}},
	},
	"GET " + secretsPath: {
		tag: "access", id: "listSecrets", summary: "List the active signing secrets",
		replies: []reply{{status: 200, about: "The secrets of the namespace, then those of its queues, each with the newest first. No secret itself is shown.", body: SecretList{}}},
	},
	"POST " + secretsPath: {
		tag: "access", id: "createSecret", summary: "Create a signing secret",
		about: "It signs the deliveries of the namespace, or of the named queue, from now on. The secret before it also signs for overlap, or until it is deleted. " +
			"At most two secrets of a namespace, and of a queue, sign at once. If a queue has secrets of its own, only those sign its callbacks. So its receiver can neither forge nor relay callbacks to receivers of other queues. " +
			"Only this reply shows the secret.",
		body:     wire.SecretInput{},
		optional: true,
		replies:  []reply{{status: 201, about: "The secret and its record.", body: wire.Secret{}, placed: true}},
	},
	"DELETE " + secretsPath + "/{id}": {
		tag: "access", id: "deleteSecret", summary: "Delete a signing secret",
		replies: []reply{{status: 200, about: "Deleted, and durable: it no longer signs. After the last secret of a queue is deleted, the namespace's secrets sign for the queue again.", body: wire.Secret{}}, {status: 202, about: behind, body: wire.Secret{}}},
	},
	"GET " + wire.Version + "/audit": {
		tag: "access", id: "listAudit", summary: "Read the audit log",
		about:   "What people did, the newest first, with the actor, time, address and target. Changes of tasks by programs are in the records of the tasks. An operator that names no namespace sees those of all namespaces and of the server itself. Only operators see entries that are older than the namespace.",
		replies: []reply{{status: 200, about: "A page of the log.", body: AuditList{}}},
	},
	"GET " + namespacesPath: {
		tag: "namespaces", id: "listNamespaces", summary: "List namespaces",
		replies: []reply{{status: 200, about: "A page of namespaces, in the order of their names.", body: NamespaceList{}}},
	},
	"GET " + namespacePath: {
		tag: "namespaces", id: "getNamespace", summary: "Read a namespace",
		replies: []reply{showsRecord(wire.Namespace{}, 200, "Its quotas and counts.")},
	},
	"PUT " + namespacePath: {
		tag: "namespaces", id: "putNamespace", summary: "Create a namespace, or set its quotas",
		about:   "Replaces all quotas. Existing tasks stay, even if they exceed a quota.",
		headers: []param{ifMatchHeader, ifNoneMatchHeader},
		body:    wire.NamespaceInput{},
		replies: []reply{showsRecord(wire.Namespace{}, 200, "Replaced, and durable."), showsRecord(wire.Namespace{}, 201, "Created, and durable."), showsRecord(wire.Namespace{}, 202, behind)},
	},
	"DELETE " + namespacePath: {
		tag: "namespaces", id: "deleteNamespace", summary: "Delete a namespace",
		about:   "Also deletes its queues and secrets. 409 while it has tasks, finished ones included, or valid tokens. 409 for the namespace default, which always exists.",
		headers: []param{ifMatchHeader},
		replies: []reply{{status: 200, about: "The deleted namespace.", body: wire.Namespace{}}, {status: 202, about: behind, body: wire.Namespace{}}},
	},
	"GET " + wire.Version + "/live": {
		tag: "server", id: "live", summary: "Show the current activity of the server",
		extra: true,
		about: "Active queues and destinations, and for an operator the lateness of attempts. A namespace's own token sees only its own queues and destinations. " +
			"With accept: text/event-stream, the reply is a stream with an event each second, whose data is the same JSON. It ends when the server stops. " +
			"If the token is revoked, the last event is problem, with the problem as data.",
		replies: []reply{{status: 200, about: "The activity at this moment.", body: wire.Live{}, events: true}},
	},
	"GET " + wire.Version + "/egress": {
		tag: "server", id: "explainEgress", summary: "Check whether tasks may call a URL",
		extra:   true,
		about:   "Applies the egress policy of the server that replies. It resolves the host as for an attempt, but does not connect.",
		replies: []reply{{status: 200, about: "The verdict on each address.", body: wire.Egress{}}},
	},
	"GET " + wire.Version + "/backup": {
		tag: "server", id: "backup", summary: "Take a backup",
		extra: true,
		about: "A consistent copy of all data, signing secrets included. The server continues to work. An incomplete transfer is not a backup: its connection ends without the last chunk. " +
			"A transfer also ends if the client reads nothing for 30 seconds. Only one backup runs at a time; another gets 409. HEAD takes no backup, and reports whether the server supports them.",
		replies: []reply{{status: 200, about: "A tar archive, for foliot restore.", body: []byte(nil), media: "application/x-tar"}},
	},
	"GET /metrics": {
		tag: "server", id: "metrics", summary: "Metrics, for Prometheus",
		extra:   true,
		replies: []reply{{status: 200, about: "In the text format, or in the format of Accept.", body: []byte(nil), media: "text/plain"}},
	},
	"GET " + wire.Version + "/due": {
		tag: "server", id: "countDue", summary: "Count what comes due",
		about:   "Counts the waiting tasks by due time, in slots. An operator that names no namespace sees all. All callers share a sample for a second, and longer if it is costly.",
		replies: []reply{{status: 200, about: "The counts.", body: wire.Due{}}},
	},
	"GET " + wire.Version + "/history": {
		tag: "server", id: "history", summary: "Show what happened as figures",
		extra:   true,
		about:   "The figures of all servers that share the store: attempts by lateness and by outcome, and tasks that died, were created or were cancelled. An operator that names no namespace sees all. The store keeps minutes for 24 hours, and hours for 90 days.",
		replies: []reply{{status: 200, about: "The figures by time and by queue.", body: wire.History{}}},
	},
	"GET " + wire.Version + "/attempts": {
		tag: "server", id: "listAttempts", summary: "Show recent attempts",
		extra:   true,
		about:   "The last attempts of the server that replies: 1000 that delivered a task, and 1000 others. A restart clears them. An operator that names no namespace sees all. The record of a task has all of its last 20.",
		replies: []reply{{status: 200, about: "The attempts, the latest first.", body: wire.AttemptList{}}},
	},
	"GET " + clusterPath: {
		tag: "server", id: "cluster", summary: "List the servers",
		about:   "A server with a store of its own lists only itself.",
		replies: []reply{{status: 200, about: "The nodes, and the durability of the store.", body: wire.Cluster{}}},
	},
	"GET " + clusterPath + "/shards": {
		tag: "server", id: "listShards", summary: "List the shards of a shared store",
		extra:   true,
		about:   "All shards in the order of their numbers, with their owner and content.",
		replies: []reply{{status: 200, about: "The shards.", body: ShardList{}}},
	},
	"GET " + clusterPath + "/store": {
		tag: "server", id: "examineStore", summary: "Examine the store of a server",
		extra: true,
		about: "On a directory: the free space. On a Redis: the findings of foliot doctor redis, for the settings of the server that replies: fitness, memory, replicas, clocks, format and identity. " +
			"On both: TLS files that cannot be used. It changes nothing, and also works while the store is closed (store_replaced).",
		replies: []reply{{status: 200, about: "The findings.", body: wire.Examination{}}},
	},
	"POST " + nodePath + "/drain": {
		tag: "server", id: "drainNode", summary: "Move the shards of a node to the others",
		extra: true,
		about: "Takes effect within a heartbeat, usually at once. A drain lasts until it is undone or the node's process ends. The node finishes its attempts and still serves this API. " +
			"If all other nodes end, it takes their shards nevertheless. 409 last_node if no other live node could take its shards.",
		replies: []reply{{status: 200, about: "Durable. owned falls to 0 while the others take over.", body: wire.Node{}}},
	},
	"DELETE " + nodePath + "/drain": {
		tag: "server", id: "undrainNode", summary: "Let a node own shards again",
		extra:   true,
		replies: []reply{{status: 200, about: "Durable. owned rises while the others give shards to it.", body: wire.Node{}}},
	},
	"GET " + wire.Version + "/upcoming": {
		tag: "tasks", id: "listUpcoming", summary: "Show what is due next",
		about: "The next tasks and the next instants of schedules, in the order of due times. An operator that names no namespace sees all. " +
			"Of the instants that a schedule has missed, only the first is an item. Paused schedules are included: at most 1000. " +
			"With from, at most 1000 schedules are included whose next instant is before it.",
		replies: []reply{{status: 200, about: "The items, the earliest first.", body: wire.Upcoming{}}},
	},
}
