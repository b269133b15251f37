package wire

// TokenInput is the body of a create of a token, with at most one of ExpiresIn
// and ExpiresAt.
type TokenInput struct {
	Scope     string `json:"scope" enum:"read,write,admin" doc:"read: see tasks, queues and counts. write: also change tasks. admin: also change queues, tokens and secrets, and read the audit log."`
	Namespace string `json:"namespace,omitempty" maxLength:"256" doc:"The namespace of the token. * makes an operator's token, which is valid for all namespaces and for the server itself. Absent: the namespace of the request."`
	Label     string `json:"label,omitempty" maxLength:"256" example:"shop, production" doc:"A description for people. The tasks that the token makes or changes show it, and so does the audit log."`
	ExpiresIn string `json:"expires_in,omitempty" pattern:"duration" example:"2160h" doc:"The lifetime of the token. Without this and expires_at it is valid until it is revoked."`
	ExpiresAt string `json:"expires_at,omitempty" format:"date-time"`
}

// Token is the record of a token. The server does not store the token itself,
// so only the reply to the create shows it.
type Token struct {
	ID         string `json:"id"`
	Namespace  string `json:"namespace"`
	Scope      string `json:"scope" enum:"read,write,admin"`
	Label      string `json:"label,omitempty"`
	Parent     string `json:"parent,omitempty" doc:"The id of the token that created this one. This token expires no later than its parent."`
	State      string `json:"state" enum:"active,expired,revoked"`
	CreatedAt  string `json:"created_at" format:"date-time"`
	ExpiresAt  string `json:"expires_at,omitempty" format:"date-time"`
	RevokedAt  string `json:"revoked_at,omitempty" format:"date-time"`
	LastUsedAt string `json:"last_used_at,omitempty" format:"date-time" doc:"Accurate to about a minute."`
	// ActiveChildren is set in the reply to a revoke.
	ActiveChildren int    `json:"active_children,omitempty" doc:"Only in the reply to a revoke: the number of its descendants that are still valid."`
	Token          string `json:"token,omitempty" doc:"Only in the reply to the create: store it, it cannot be shown again."`

	Unconfirmed []string `json:"unconfirmed,omitempty" doc:"Only with status 202: the nodes that have not applied the change yet."`
}

// Identity describes the caller of a request, and the server that replies.
type Identity struct {
	Namespace  string `json:"namespace" doc:"The namespace of the request."`
	Scope      string `json:"scope" enum:"read,write,admin" doc:"The scope of the token; admin if the server has no tokens."`
	Operator   bool   `json:"operator" doc:"true: the caller may name every namespace, and manages the server. Every caller of a server without tokens is an operator."`
	Token      *Token `json:"token,omitempty" doc:"The record of the token, without the token itself. Absent: the server has no tokens."`
	Secured    bool   `json:"secured" doc:"true: every request needs a token."`
	Node       string `json:"node,omitempty" doc:"The name of the server among those that share a store. Absent: the store is embedded."`
	Version    string `json:"version" doc:"The version of the server."`
	Store      string `json:"store" enum:"embedded,shared"`
	Durability string `json:"durability" doc:"The loss that a change survives: memory, synced, async, default or strict."`
	Now        string `json:"now" format:"date-time" doc:"The server's time of the reply."`
}

// SecretInput is the body of a create of a signing secret. Without a secret, or
// without a body, the server makes one.
type SecretInput struct {
	Queue   string `json:"queue,omitempty" maxLength:"256" doc:"The queue that it signs for. If a queue has secrets of its own, only those sign its callbacks. Absent: all queues of the namespace without secrets of their own."`
	Secret  string `json:"secret,omitempty" maxLength:"128" doc:"A secret in the form of Standard Webhooks: whsec_ and 24 to 64 bytes in base64. Absent: the server makes one."`
	Overlap string `json:"overlap,omitempty" pattern:"duration" example:"24h" doc:"How long the present secrets also sign. Absent: until they are deleted. For the first secret of a queue, absent means that the namespace's secrets stop signing for the queue at once."`
}

// Secret is the record of a signing secret.
type Secret struct {
	ID                  string `json:"id"`
	Queue               string `json:"queue,omitempty" doc:"The queue that it signs for. Absent: all queues of the namespace without a secret of their own."`
	CreatedAt           string `json:"created_at" format:"date-time"`
	ExpiresAt           string `json:"expires_at,omitempty" format:"date-time" doc:"The time when it stops signing. Absent: when it is deleted."`
	NamespaceSignsUntil string `json:"beside_until,omitempty" format:"date-time" doc:"For a queue's secret: until this time the namespace's secrets also sign the queue's callbacks. Absent: they do not."`
	Secret              string `json:"secret,omitempty" doc:"Only in the reply to the create: give it to the receivers, it is not shown again."`

	Unconfirmed []string `json:"unconfirmed,omitempty" doc:"Only with status 202: the nodes that have not applied the change yet."`
}

// NamespaceInput is the body of a PUT of a namespace, which replaces all
// quotas. An absent or null quota sets no limit.
type NamespaceInput struct {
	MaxPending   int64   `json:"max_pending,omitempty" minimum:"1" doc:"The maximum number of scheduled and running tasks; each schedule counts as one. Absent or null: no limit."`
	MaxBytes     int64   `json:"max_bytes,omitempty" minimum:"1" doc:"The maximum size of the stored records with their bodies, in bytes. Absent or null: no limit."`
	CreateRate   float64 `json:"create_rate,omitempty" minimum:"0.0000116" maximum:"1000000" doc:"The maximum number of creates per second at each server. Absent or null: no limit."`
	CreateBurst  int     `json:"create_burst,omitempty" minimum:"0" maximum:"1000000" doc:"The maximum number of creates at once after a pause. 0 or absent: those of one second, at least one. A larger batch is never accepted whole."`
	ChangeRate   float64 `json:"change_rate,omitempty" minimum:"0.0000116" maximum:"1000000" doc:"The maximum number of changes of existing tasks and schedules per second at each server. Absent: as create_rate."`
	ReadRate     float64 `json:"read_rate,omitempty" minimum:"0.0000116" maximum:"1000000" doc:"The maximum number of reads per second at each server. Absent: 1000, and 10,000 at once."`
	EditRate     float64 `json:"edit_rate,omitempty" minimum:"0.0000116" maximum:"1000000" doc:"The maximum number of edits of queues, tokens and secrets per second by the namespace's own tokens, at each server. Absent: 2, and 50 at once."`
	Suspended    bool    `json:"suspended,omitempty" doc:"true: the namespace is stopped. No task is created or delivered, no schedule fires, and its own tokens can only read. Its tasks wait and spend no attempt."`
	HidePayloads bool    `json:"hide_payloads,omitempty" doc:"true: tokens of scope read see no bodies and no headers of requests, and no replies of receivers."`
	Kinds        bool    `json:"kinds,omitempty" doc:"true: tasks with a kind are allowed, because a program with handlers runs the tasks of the namespace."`
	ManagedBy    string  `json:"managed_by,omitempty" maxLength:"256" pattern:"^([0-9A-Za-z][0-9A-Za-z._:-]*)?$" example:"apply" doc:"The owner that foliot apply --prune compares with its --owner. Absent: unchanged. Empty: none."`
}

// Namespace is a namespace as the API shows it.
type Namespace struct {
	NamespaceInput

	Name      string `json:"name"`
	Version   uint64 `json:"version" doc:"Counts changes of its settings; 0: it has none."`
	CreatedAt string `json:"created_at,omitempty" format:"date-time"`
	Counts    Counts `json:"counts"`
	Schedules int64  `json:"schedules" doc:"The number of schedules. Each counts as a pending task for max_pending."`

	Unconfirmed []string `json:"unconfirmed,omitempty" doc:"Only with status 202: the nodes that have not applied the change yet."`
}

// AuditEntry records what a person did.
type AuditEntry struct {
	At        string `json:"at" format:"date-time"`
	By        string `json:"by" example:"token:1f2e3d4c5b6a7988 shop" doc:"The actor: token:<id> and after a space the label of the token, anonymous on a server without tokens, or upkeep for the server itself."`
	Addr      string `json:"addr,omitempty" doc:"The client's address."`
	Namespace string `json:"namespace,omitempty"`
	Action    string `json:"action" example:"queue.pause" doc:"The kind of record and the verb."`
	Target    string `json:"target,omitempty" doc:"The name or id of the changed record."`
	ID        string `json:"id,omitempty" doc:"The id of the task or schedule."`
	Version   uint64 `json:"version,omitempty" doc:"The version after the change."`
	Detail    string `json:"detail,omitempty"`
}
