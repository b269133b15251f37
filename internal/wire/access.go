package wire

// TokenInput asks for a token. At most one of ExpiresIn and ExpiresAt is given.
type TokenInput struct {
	Scope     string `json:"scope" enum:"read,write,admin" doc:"read: see tasks, queues and counts. write: change tasks too. admin: change queues, tokens and secrets too, and read the audit log."`
	Namespace string `json:"namespace,omitempty" maxLength:"256" doc:"Whom it is for; * for an operator's token, which is good for all and for what belongs to the server. Absent: the namespace of the request."`
	Label     string `json:"label,omitempty" maxLength:"256" example:"shop, production" doc:"To know it by."`
	ExpiresIn string `json:"expires_in,omitempty" pattern:"duration" example:"2160h" doc:"How long it is good. Neither this nor expires_at: until it is revoked."`
	ExpiresAt string `json:"expires_at,omitempty" format:"date-time"`
}

// Token is what is known of a token. The token itself the server does not know:
// it is shown once, in the reply that makes it.
type Token struct {
	ID         string `json:"id"`
	Namespace  string `json:"namespace"`
	Scope      string `json:"scope" enum:"read,write,admin"`
	Label      string `json:"label,omitempty"`
	Parent     string `json:"parent,omitempty" doc:"The id of the token that made this one, which expires no later."`
	State      string `json:"state" enum:"active,expired,revoked"`
	CreatedAt  string `json:"created_at" format:"date-time"`
	ExpiresAt  string `json:"expires_at,omitempty" format:"date-time"`
	RevokedAt  string `json:"revoked_at,omitempty" format:"date-time"`
	LastUsedAt string `json:"last_used_at,omitempty" format:"date-time" doc:"To about a minute."`
	// ActiveChildren is set in the reply to a revoke.
	ActiveChildren int    `json:"active_children,omitempty" doc:"Only in the reply to a revoke: how many of its descendants are still valid."`
	Token          string `json:"token,omitempty" doc:"In the reply to the create alone: keep it, it cannot be shown again."`
}

// TokenList is one page of tokens, in the order of their ids.
type TokenList struct {
	Tokens     []Token `json:"tokens" nullable:"false"`
	NextCursor string  `json:"next_cursor,omitempty" doc:"Absent on the last page."`
}

// SecretInput asks for a signing secret. Without a body, and without fields, one is made.
type SecretInput struct {
	Queue   string `json:"queue,omitempty" maxLength:"256" doc:"The queue that it signs for. If a queue has secrets of its own, only those sign its callbacks. Absent: all queues of the namespace without one."`
	Secret  string `json:"secret,omitempty" maxLength:"128" doc:"Your own, in the form of Standard Webhooks: whsec_ and 24 to 64 bytes in base64. Absent: one is made."`
	Overlap string `json:"overlap,omitempty" pattern:"duration" example:"24h" doc:"How long the present secrets also sign. Absent: until they are removed. With the first secret of a queue, the namespace's secrets stop signing for it at once."`
}

// Secret is what is shown of a signing secret.
type Secret struct {
	ID          string `json:"id"`
	Queue       string `json:"queue,omitempty" doc:"The queue that it signs for. Absent: all queues of the namespace without a secret of their own."`
	CreatedAt   string `json:"created_at" format:"date-time"`
	ExpiresAt   string `json:"expires_at,omitempty" format:"date-time" doc:"When it stops signing. Absent: when it is removed."`
	BesideUntil string `json:"beside_until,omitempty" format:"date-time" doc:"Of a queue's secret: until then the namespace's secrets sign the queue's callbacks too. Absent: they do not."`
	Secret      string `json:"secret,omitempty" doc:"In the reply to the create alone: give it to the receivers, it is not shown again."`
}

// SecretList holds the secrets of a namespace that sign: its own, then those of its
// queues in the order of their names. Of each, the newest is first.
type SecretList struct {
	Secrets []Secret `json:"secrets" nullable:"false"`
}

// NamespaceInput is the body of a PUT of a namespace, which replaces all quotas. A quota that is absent or null sets no limit.
type NamespaceInput struct {
	MaxPending  int64   `json:"max_pending,omitempty" minimum:"1" doc:"How many tasks may be scheduled or running; each schedule counts as one. Absent or null, as with the others: no limit."`
	MaxBytes    int64   `json:"max_bytes,omitempty" minimum:"1" doc:"How many bytes the records that are kept may have, with their bodies."`
	CreateRate  float64 `json:"create_rate,omitempty" minimum:"0.0000116" maximum:"1000000" doc:"How many tasks may be created in a second, at each server."`
	CreateBurst int     `json:"create_burst,omitempty" minimum:"0" maximum:"1000000" doc:"How many may be created at once after a silence. 0 or absent: one second's worth, at least one. A batch larger than that is never taken whole."`
	ChangeRate  float64 `json:"change_rate,omitempty" minimum:"0.0000116" maximum:"1000000" doc:"How many changes of existing tasks and schedules may be made in a second, at each server. Absent: as many as creates."`
	ReadRate    float64 `json:"read_rate,omitempty" minimum:"0.0000116" maximum:"1000000" doc:"How many reads may be made in a second, at each server. Without it: 1000, and 10,000 at once."`
	EditRate    float64 `json:"edit_rate,omitempty" minimum:"0.0000116" maximum:"1000000" doc:"How many edits of queues, tokens and secrets the namespace's own tokens may make in a second, at each server. Absent: 2, and 50 at once."`
	Suspended   bool    `json:"suspended,omitempty" doc:"The namespace is stopped: nothing of it is created, delivered or fired, and its own tokens only read. Its tasks wait, and spend no attempt."`
}

// Namespace is a tenant as the API shows it.
type Namespace struct {
	NamespaceInput

	Name      string `json:"name"`
	Version   uint64 `json:"version" doc:"Counts what was decided of it; 0: nothing yet."`
	CreatedAt string `json:"created_at,omitempty" format:"date-time"`
	Counts    Counts `json:"counts"`
	Schedules int64  `json:"schedules" doc:"How many there are. Each counts as a pending task where max_pending is concerned."`
}

// NamespaceList is one page of namespaces, in the order of their names.
type NamespaceList struct {
	Namespaces []Namespace `json:"namespaces" nullable:"false"`
	NextCursor string      `json:"next_cursor,omitempty" doc:"Absent on the last page."`
}

// AuditEntry records one mutation.
type AuditEntry struct {
	At        string `json:"at" format:"date-time"`
	By        string `json:"by" doc:"token:<id>, anonymous on a server without tokens, or a part of the server: upkeep."`
	Addr      string `json:"addr,omitempty" doc:"The client's address."`
	Namespace string `json:"namespace,omitempty"`
	Action    string `json:"action" example:"task.create" doc:"The noun and the verb."`
	Target    string `json:"target,omitempty" doc:"The name, or id, of what was changed."`
	ID        string `json:"id,omitempty" doc:"Of a task's incarnation."`
	Version   uint64 `json:"version,omitempty" doc:"That the change left behind."`
	Detail    string `json:"detail,omitempty"`
}

// AuditList is one page of the audit log, the newest entry first.
type AuditList struct {
	Entries    []AuditEntry `json:"entries" nullable:"false"`
	NextCursor string       `json:"next_cursor,omitempty" doc:"Absent on the last page. A page may be short, or empty, and still have one."`
}
