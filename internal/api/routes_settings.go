package api

import (
	"net/http"
	"slices"

	"github.com/foliot/foliot/internal/task"
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

var pageParams = []param{limitParam, cursorParam}

// showsQueue is a reply that shows a queue.
func showsQueue(status int, about string) reply {
	return reply{status: status, about: about, body: wire.Queue{}, tagged: true, placed: status == http.StatusCreated}
}

func queueRoutes() []route {
	return []route{
		{
			method: "GET", path: queuesPath, serve: (*Server).listQueues, scope: task.ScopeRead, tag: "queues",
			id: "listQueues", summary: "List queues",
			about: "Those of which something was decided, and those that have tasks, in the order of their names.",
			query: pageParams, replies: []reply{{status: 200, about: "A page of queues.", body: wire.QueueList{}}},
		},
		{
			method: "GET", path: queuePath, serve: (*Server).getQueue, scope: task.ScopeRead, tag: "queues",
			id: "getQueue", summary: "Read a queue",
			replies: []reply{showsQueue(200, "What was decided of it, and what is in it. 404 where that is nothing.")},
		},
		{
			method: "PUT", path: queuePath, serve: (*Server).putQueue, scope: task.ScopeAdmin, tag: "queues",
			id: "putQueue", summary: "Decide a queue's limits, defaults and retention",
			about:   "Replaces all that was decided before, except pause and purge. Limits and retention count at once; defaults are for tasks that are created from now on.",
			headers: []param{ifMatchHeader, ifNoneMatchHeader}, body: wire.QueueInput{},
			replies: []reply{showsQueue(200, "Replaced, and durable."), showsQueue(201, "Decided for the first time, and durable.")},
		},
		{
			method: "DELETE", path: queuePath, serve: (*Server).deleteQueue, scope: task.ScopeAdmin, tag: "queues",
			id: "deleteQueue", summary: "Forget what was decided of a queue",
			about:   "Its tasks stay, with the server's defaults; a paused queue goes on. Its signing secrets stay too: remove them by themselves. 409 while a purge is under way.",
			headers: []param{ifMatchHeader}, replies: []reply{showsQueue(200, "Forgotten: what is left of the queue.")},
		},
		{
			method: "POST", path: queuePath + "/pause", serve: (*Server).pauseQueue, scope: task.ScopeAdmin, tag: "queues",
			id: "pauseQueue", summary: "Pause a queue",
			about: "Nothing of it starts any more, but what is run by hand; what is under way goes on. Its tasks are kept, and shown as held; " +
				"waiting spends no attempt. Pausing again changes when it resumes by itself. A queue can be paused before it has its first task.",
			headers: []param{ifMatchHeader, ifNoneMatchHeader}, body: wire.PauseInput{}, optional: true,
			replies: []reply{
				showsQueue(200, "Paused, and durable."),
				showsQueue(201, "Paused, and durable. Nothing was decided of the queue before: where it has no tasks either, nobody knew it, and its name may be a typing error."),
			},
		},
		{
			method: "POST", path: queuePath + "/resume", serve: (*Server).resumeQueue, scope: task.ScopeAdmin, tag: "queues",
			id: "resumeQueue", summary: "Resume a queue",
			about:   "What came due meanwhile starts at once, within the queue's limits. 404 where nothing was decided of it and it has no tasks.",
			headers: []param{ifMatchHeader}, replies: []reply{showsQueue(200, "Resumed, and durable.")},
		},
		{
			method: "POST", path: queuePath + "/purge", serve: (*Server).purgeQueue, scope: task.ScopeAdmin, tag: "queues",
			id: "purgeQueue", summary: "Cancel everything in a queue",
			about: "Everything of it that was created before this reply and is not finished is cancelled in the background, the dead tasks too; " +
				"nothing of the queue starts until that is done. An attempt under way goes on, and no retry follows it. 404 where nothing was decided of it and it has no tasks. " +
				"With expect the unfinished tasks of the queue are counted first; a task that comes into the queue between the count and the reply is cancelled too.",
			query: []param{expectParam}, headers: []param{ifMatchHeader},
			replies: []reply{showsQueue(202, "Durable: it will be done, also after a restart. The queue's purging says whether it is.")},
		},
	}
}

func accessRoutes() []route {
	return []route{
		{
			method: "GET", path: tokensPath, serve: (*Server).listTokens, scope: task.ScopeAdmin, tag: "access",
			id: "listTokens", summary: "List tokens",
			about: "Includes revoked and expired ones, for as long as the audit log is kept (--audit-keep), but no token itself. Without a namespace, an operator sees those of all.",
			query: pageParams, replies: []reply{{status: 200, about: "A page of tokens, in the order of their ids.", body: wire.TokenList{}}},
		},
		{
			method: "POST", path: tokensPath, serve: (*Server).createToken, scope: task.ScopeAdmin, tag: "access",
			id: "createToken", summary: "Make a token",
			about: "The reply is the only one that shows the token. From the first token on every request needs one; that must be an operator's, of scope admin. " +
				"A token expires no later than the one that makes it: without expires_at and expires_in, at the same instant.",
			body: wire.TokenInput{}, replies: []reply{{status: 201, about: "The token and its record.", body: wire.Token{}, placed: true}},
		},
		{
			method: "DELETE", path: tokensPath + "/{id}", serve: (*Server).revokeToken, scope: task.ScopeAdmin, tag: "access",
			id: "revokeToken", summary: "Revoke a token",
			about: "It is refused from this reply on; on other servers of the same store within a second. A long poll that waits with it ends. Revoking again is fine. " +
				"Its children stay valid, unless children=true, so that a token can be replaced. The reply counts them. If the token leaked, revoke them too. " +
				"409 last_admin_token where it is the last operator's of scope admin that is neither revoked nor expired: nobody could manage the server any more.",
			query:   []param{childrenParam, forceParam},
			replies: []reply{{status: 200, about: "Revoked, and durable.", body: wire.Token{}}},
		},
		{
			method: "GET", path: secretsPath, serve: (*Server).listSecrets, scope: task.ScopeAdmin, tag: "access",
			id: "listSecrets", summary: "List the signing secrets that sign",
			replies: []reply{{status: 200, about: "Those of the namespace first, then those of its queues; of each the newest first. No reply shows the secrets themselves.", body: wire.SecretList{}}},
		},
		{
			method: "POST", path: secretsPath, serve: (*Server).createSecret, scope: task.ScopeAdmin, tag: "access",
			id: "createSecret", summary: "Make a signing secret",
			about: "Deliveries of the namespace, or of the queue that is named, are signed with it from now on, and with the one before it for overlap, or until that is removed. " +
				"At most two of a namespace, and of a queue, sign at once. If a queue has a secret of its own, only that signs its callbacks. So its receiver can neither forge nor relay callbacks to receivers of other queues. " +
				"The reply is the only one that shows the secret.",
			body: wire.SecretInput{}, optional: true, replies: []reply{{status: 201, about: "The secret, and what is known of it.", body: wire.Secret{}, placed: true}},
		},
		{
			method: "DELETE", path: secretsPath + "/{id}", serve: (*Server).deleteSecret, scope: task.ScopeAdmin, tag: "access",
			id: "deleteSecret", summary: "Remove a signing secret",
			replies: []reply{{status: 200, about: "Removed, and durable: it signs nothing any more. After the last secret of a queue is removed, the namespace's secrets sign for the queue again.", body: wire.Secret{}}},
		},
		{
			method: "GET", path: wire.Version + "/audit", serve: (*Server).audit, scope: task.ScopeAdmin, tag: "access",
			id: "listAudit", summary: "Read the audit log",
			about:   "Each mutation, the newest first: who, when, from where, what. An operator who names no namespace sees all of them, and what concerns the server itself. What is older than the namespace is the operator's to see alone.",
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
			method: "GET", path: namespacesPath, serve: (*Server).listNamespaces, scope: task.ScopeRead, operator: true, tag: "namespaces",
			id: "listNamespaces", summary: "List namespaces", query: pageParams,
			replies: []reply{{status: 200, about: "A page of namespaces, in the order of their names.", body: wire.NamespaceList{}}},
		},
		{
			method: "GET", path: namespacePath, serve: (*Server).getNamespace, scope: task.ScopeRead, operator: true, tag: "namespaces",
			id: "getNamespace", summary: "Read a namespace", replies: []reply{shows(200, "Its quotas, and what is in it.")},
		},
		{
			method: "PUT", path: namespacePath, serve: (*Server).putNamespace, scope: task.ScopeAdmin, operator: true, tag: "namespaces",
			id: "putNamespace", summary: "Make a namespace, or set its quotas",
			about:   "Replaces all of its quotas. Tasks that are there already stay, also where they are more than it may have.",
			headers: []param{ifMatchHeader, ifNoneMatchHeader}, body: wire.NamespaceInput{},
			replies: []reply{shows(200, "Replaced, and durable."), shows(201, "Made, and durable.")},
		},
		{
			method: "DELETE", path: namespacePath, serve: (*Server).deleteNamespace, scope: task.ScopeAdmin, operator: true, tag: "namespaces",
			id: "deleteNamespace", summary: "Remove a namespace",
			about:   "With its queues and secrets. 409 while tasks are left, the finished ones among them, or tokens of it that hold.",
			replies: []reply{{status: 200, about: "Removed: what it was.", body: wire.Namespace{}}},
		},
	}
}

func serverRoutes() []route {
	return []route{
		{
			method: "GET", path: wire.Version + "/live", serve: (*Server).live, scope: task.ScopeRead, extra: true, tag: "server",
			id: "live", summary: "What the server is doing",
			about:   "Queues and destinations with something to do, and for an operator how late attempts start. A namespace's own token sees what is its own.",
			replies: []reply{{status: 200, about: "As it is at this moment.", body: wire.Live{}}},
		},
		{
			method: "GET", path: wire.Version + "/egress", serve: (*Server).egress, scope: task.ScopeRead, operator: true, costly: true, extra: true, tag: "server",
			id: "explainEgress", summary: "Say whether tasks may call a URL",
			about:   "By the egress policy of the server that answers. It resolves the host now, as for an attempt, and connects to nothing.",
			query:   []param{{name: "url", about: "The URL that a task would call.", required: true}},
			replies: []reply{{status: 200, about: "The verdict on each address.", body: wire.Egress{}}},
		},
		{
			method: "GET", path: wire.Version + "/backup", serve: (*Server).backup, scope: task.ScopeAdmin, operator: true, costly: true, extra: true, tag: "server",
			id: "backup", summary: "Take a backup",
			about: "Of all there is, signing secrets included, as it is at one moment. The server goes on meanwhile. A transfer that breaks off is no backup: the connection ends without the last chunk. " +
				"So does one of which the client takes nothing for 30 seconds. There is one at a time, 409 otherwise. HEAD takes none, and tells whether the server has any.",
			replies: []reply{{status: 200, about: "A tar archive, for foliot restore.", body: []byte(nil), media: "application/x-tar"}},
		},
		{
			method: "GET", path: "/metrics", serve: (*Server).metrics, scope: task.ScopeRead, operator: true, extra: true, watches: true, tag: "server",
			id: "metrics", summary: "Metrics, for Prometheus",
			replies: []reply{{status: 200, about: "In the text format, or the one that Accept asks for.", body: []byte(nil), media: "text/plain"}},
		},
	}
}
