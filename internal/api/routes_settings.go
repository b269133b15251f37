package api

import (
	"net/http"
	"slices"

	"github.com/foliot/foliot/internal/api/admission"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/wire"
)

const (
	queuesPath     = wire.Version + "/queues"
	queuePath      = queuesPath + "/{queue}"
	tokensPath     = wire.Version + "/tokens"
	secretsPath    = wire.Version + "/secrets"
	namespacesPath = wire.Version + "/namespaces"
	namespacePath  = namespacesPath + "/{name}"
)

// behind describes the reply to an edit that some nodes have not applied.
const behind = "As 200, but after two seconds the nodes in unconfirmed had not applied the change. They claim no task before they have. Repeat the request to see if they have."

var pageParams = []param{limitParam, cursorParam}

// showsQueue returns the description of a reply with a queue.
func showsQueue(status int, about string) reply {
	return reply{status: status, about: about, body: wire.Queue{}, tagged: true, placed: status == http.StatusCreated}
}

func queueRoutes() []route {
	return []route{
		{
			method: "GET", path: queuesPath, serve: (*Server).listQueues, scope: settings.ScopeRead, tag: "queues",
			weight: admission.Large, id: "listQueues", summary: "List queues",
			about: "Queues with settings or tasks, in the order of their names.",
			query: pageParams, replies: []reply{{status: 200, about: "A page of queues.", body: wire.QueueList{}}},
		},
		{
			method: "GET", path: queuePath, serve: (*Server).getQueue, scope: settings.ScopeRead, tag: "queues",
			id: "getQueue", summary: "Read a queue",
			replies: []reply{showsQueue(200, "Its settings and counts. 404 if it has neither settings nor tasks.")},
		},
		{
			method: "PUT", path: queuePath, serve: (*Server).putQueue, scope: settings.ScopeAdmin, tag: "queues",
			id: "putQueue", summary: "Set the limits, defaults and retention of a queue",
			about:   "Replaces all settings, except pause and purge. Limits and retention take effect at once, and defaults for tasks that are created later.",
			headers: []param{ifMatchHeader, ifNoneMatchHeader}, body: wire.QueueInput{},
			replies: []reply{showsQueue(200, "Replaced, and durable."), showsQueue(201, "Created, and durable."), showsQueue(202, behind)},
		},
		{
			method: "DELETE", path: queuePath, serve: (*Server).deleteQueue, scope: settings.ScopeAdmin, tag: "queues",
			id: "deleteQueue", summary: "Delete the settings of a queue",
			about:   "Its tasks stay, with the server's defaults, and a paused queue resumes. Its signing secrets stay too: delete them separately. 409 during a purge.",
			headers: []param{ifMatchHeader}, replies: []reply{showsQueue(200, "Deleted. The reply shows the queue without settings."), showsQueue(202, behind)},
		},
		{
			method: "POST", path: queuePath + "/pause", serve: (*Server).pauseQueue, scope: settings.ScopeAdmin, tag: "queues",
			id: "pauseQueue", summary: "Pause a queue",
			about: "No attempt of the queue starts, except of tasks that are run by hand. Attempts under way go on. Tasks wait, are shown as held, " +
				"and spend no attempt. Pausing again changes the time at which the queue resumes by itself. A queue can be paused before it has tasks.",
			headers: []param{ifMatchHeader, ifNoneMatchHeader}, body: wire.PauseInput{}, optional: true,
			replies: []reply{
				showsQueue(200, "Paused, and durable."),
				showsQueue(201, "Paused, and durable. The queue had no settings before. If it has no tasks either, its name may be misspelled."),
				showsQueue(202, behind),
			},
		},
		{
			method: "POST", path: queuePath + "/resume", serve: (*Server).resumeQueue, scope: settings.ScopeAdmin, tag: "queues",
			id: "resumeQueue", summary: "Resume a queue",
			about:   "Tasks that became due during the pause start at once, within the limits of the queue. 404 if it has neither settings nor tasks.",
			headers: []param{ifMatchHeader}, replies: []reply{showsQueue(200, "Resumed, and durable."), showsQueue(202, behind)},
		},
		{
			method: "POST", path: queuePath + "/purge", serve: (*Server).purgeQueue, scope: settings.ScopeAdmin, tag: "queues",
			id: "purgeQueue", summary: "Cancel all tasks of a queue",
			about: "Cancels in the background all tasks that are in the queue at the request and not finished, dead tasks included. The reply takes two seconds, and tasks that enter the queue after it stay. " +
				"Until that is done, no attempt of the queue starts. An attempt under way goes on, and no retry follows it. 404 if the queue has neither settings nor tasks. " +
				"With expect the unfinished tasks of the queue are counted first. A task that enters the queue between the count and the reply may be cancelled too.",
			query: []param{expectParam}, headers: []param{ifMatchHeader},
			replies: []reply{showsQueue(202, "Durable: the purge also continues after a restart. purging of the queue is true until it is done.")},
		},
	}
}

func accessRoutes() []route {
	return []route{
		{
			method: "GET", path: tokensPath, serve: (*Server).listTokens, scope: settings.ScopeAdmin, tag: "access",
			weight: admission.Large, id: "listTokens", summary: "List tokens",
			about: "Includes revoked and expired tokens for as long as the audit log is kept (--audit-keep), but never the token itself. Without a namespace, an operator sees those of all namespaces.",
			query: pageParams, replies: []reply{{status: 200, about: "A page of tokens, in the order of their ids.", body: wire.TokenList{}}},
		},
		{
			method: "POST", path: tokensPath, serve: (*Server).createToken, scope: settings.ScopeAdmin, tag: "access",
			id: "createToken", summary: "Create a token",
			about: "Only this reply shows the token. After the first token exists, every request needs one. The first must be an operator's, with scope admin. " +
				"A token expires no later than its parent, the token that created it. Without expires_at and expires_in it expires together with its parent.",
			body: wire.TokenInput{}, replies: []reply{{status: 201, about: "The token and its record.", body: wire.Token{}, placed: true}},
		},
		{
			method: "DELETE", path: tokensPath + "/{id}", serve: (*Server).revokeToken, scope: settings.ScopeAdmin, tag: "access",
			id: "revokeToken", summary: "Revoke a token",
			about: "No server of the store accepts the token after this reply. A long poll with the token ends. Revoking again changes nothing. " +
				"Its children stay valid, so that a token can be replaced, unless children=true. The reply counts them. If the token leaked, revoke them too. " +
				"409 last_admin_token for the last operator's token with scope admin that is neither revoked nor expired: without it no token could manage the server.",
			query:   []param{childrenParam, forceParam},
			replies: []reply{{status: 200, about: "Revoked, and durable.", body: wire.Token{}}, {status: 202, about: behind, body: wire.Token{}}},
		},
		{
			method: "GET", path: wire.Version + "/whoami", serve: (*Server).whoami, scope: settings.ScopeRead, tag: "access",
			id: "whoami", summary: "Show the caller's token and rights",
			about:   "Also shows the server that replies, and its clock.",
			replies: []reply{{status: 200, about: "The caller and the server.", body: wire.Identity{}}},
		},
		{
			method: "GET", path: secretsPath, serve: (*Server).listSecrets, scope: settings.ScopeAdmin, tag: "access",
			id: "listSecrets", summary: "List the active signing secrets",
			replies: []reply{{status: 200, about: "The secrets of the namespace, then those of its queues, each with the newest first. No secret itself is shown.", body: wire.SecretList{}}},
		},
		{
			method: "POST", path: secretsPath, serve: (*Server).createSecret, scope: settings.ScopeAdmin, tag: "access",
			id: "createSecret", summary: "Create a signing secret",
			about: "It signs the deliveries of the namespace, or of the named queue, from now on. The secret before it also signs for overlap, or until it is deleted. " +
				"At most two secrets of a namespace, and of a queue, sign at once. If a queue has secrets of its own, only those sign its callbacks. So its receiver can neither forge nor relay callbacks to receivers of other queues. " +
				"Only this reply shows the secret.",
			body: wire.SecretInput{}, optional: true, replies: []reply{{status: 201, about: "The secret and its record.", body: wire.Secret{}, placed: true}},
		},
		{
			method: "DELETE", path: secretsPath + "/{id}", serve: (*Server).deleteSecret, scope: settings.ScopeAdmin, tag: "access",
			id: "deleteSecret", summary: "Delete a signing secret",
			replies: []reply{{status: 200, about: "Deleted, and durable: it no longer signs. After the last secret of a queue is deleted, the namespace's secrets sign for the queue again.", body: wire.Secret{}}, {status: 202, about: behind, body: wire.Secret{}}},
		},
		{
			method: "GET", path: wire.Version + "/audit", serve: (*Server).audit, scope: settings.ScopeAdmin, tag: "access",
			weight: admission.Large, id: "listAudit", summary: "Read the audit log",
			about:   "What people did, the newest first, with the actor, time, address and target. Changes of tasks by programs are in the records of the tasks. An operator that names no namespace sees those of all namespaces and of the server itself. Only operators see entries that are older than the namespace.",
			query:   append(slices.Clone(auditParams), limitParam, cursorParam),
			replies: []reply{{status: 200, about: "A page of the log.", body: wire.AuditList{}}},
		},
	}
}

func namespaceRoutes() []route {
	shows := func(status int, about string) reply {
		return reply{status: status, about: about, body: wire.Namespace{}, tagged: true, placed: status == http.StatusCreated}
	}
	return []route{
		{
			method: "GET", path: namespacesPath, serve: (*Server).listNamespaces, scope: settings.ScopeRead, operator: true, tag: "namespaces",
			weight: admission.Large, id: "listNamespaces", summary: "List namespaces", query: pageParams,
			replies: []reply{{status: 200, about: "A page of namespaces, in the order of their names.", body: wire.NamespaceList{}}},
		},
		{
			method: "GET", path: namespacePath, serve: (*Server).getNamespace, scope: settings.ScopeRead, operator: true, tag: "namespaces",
			id: "getNamespace", summary: "Read a namespace", replies: []reply{shows(200, "Its quotas and counts.")},
		},
		{
			method: "PUT", path: namespacePath, serve: (*Server).putNamespace, scope: settings.ScopeAdmin, operator: true, tag: "namespaces",
			id: "putNamespace", summary: "Create a namespace, or set its quotas",
			about:   "Replaces all quotas. Existing tasks stay, even if they exceed a quota.",
			headers: []param{ifMatchHeader, ifNoneMatchHeader}, body: wire.NamespaceInput{},
			replies: []reply{shows(200, "Replaced, and durable."), shows(201, "Created, and durable."), shows(202, behind)},
		},
		{
			method: "DELETE", path: namespacePath, serve: (*Server).deleteNamespace, scope: settings.ScopeAdmin, operator: true, tag: "namespaces",
			id: "deleteNamespace", summary: "Delete a namespace",
			about:   "Also deletes its queues and secrets. 409 while it has tasks, finished ones included, or valid tokens. 409 for the namespace default, which always exists.",
			headers: []param{ifMatchHeader},
			replies: []reply{{status: 200, about: "The deleted namespace.", body: wire.Namespace{}}, {status: 202, about: behind, body: wire.Namespace{}}},
		},
	}
}

func serverRoutes() []route {
	return []route{
		{
			method: "GET", path: wire.Version + "/live", serve: (*Server).live, scope: settings.ScopeRead, extra: true, tag: "server",
			id: "live", summary: "Show the current activity of the server",
			about: "Active queues and destinations, and for an operator the lateness of attempts. A namespace's own token sees only its own queues and destinations. " +
				"With accept: text/event-stream, the reply is a stream with an event each second, whose data is the same JSON. It ends when the server stops. " +
				"If the token is revoked, the last event is problem, with the problem as data.",
			replies: []reply{{status: 200, about: "The activity at this moment.", body: wire.Live{}, events: true}},
		},
		{
			method: "GET", path: wire.Version + "/egress", serve: (*Server).egress, scope: settings.ScopeRead, operator: true, costly: true, extra: true, tag: "server",
			id: "explainEgress", summary: "Check whether tasks may call a URL",
			about:   "Applies the egress policy of the server that replies. It resolves the host as for an attempt, but does not connect.",
			query:   []param{{name: "url", about: "The URL that a task would call.", required: true}},
			replies: []reply{{status: 200, about: "The verdict on each address.", body: wire.Egress{}}},
		},
		{
			method: "GET", path: wire.Version + "/backup", serve: (*Server).backup, scope: settings.ScopeAdmin, operator: true, costly: true, extra: true, tag: "server",
			id: "backup", summary: "Take a backup",
			about: "A consistent copy of all data, signing secrets included. The server continues to work. An incomplete transfer is not a backup: its connection ends without the last chunk. " +
				"A transfer also ends if the client reads nothing for 30 seconds. Only one backup runs at a time; another gets 409. HEAD takes no backup, and reports whether the server supports them.",
			replies: []reply{{status: 200, about: "A tar archive, for foliot restore.", body: []byte(nil), media: "application/x-tar"}},
		},
		{
			method: "GET", path: "/metrics", serve: (*Server).metrics, scope: settings.ScopeRead, operator: true, extra: true, diagnostic: true, tag: "server",
			weight: admission.Large, id: "metrics", summary: "Metrics, for Prometheus",
			replies: []reply{{status: 200, about: "In the text format, or in the format of Accept.", body: []byte(nil), media: "text/plain"}},
		},
	}
}
