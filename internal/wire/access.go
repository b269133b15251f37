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
	State      string `json:"state" enum:"active,expired,revoked"`
	CreatedAt  string `json:"created_at" format:"date-time"`
	ExpiresAt  string `json:"expires_at,omitempty" format:"date-time"`
	RevokedAt  string `json:"revoked_at,omitempty" format:"date-time"`
	LastUsedAt string `json:"last_used_at,omitempty" format:"date-time" doc:"To about a minute."`
	Token      string `json:"token,omitempty" doc:"In the reply to the create alone: keep it, it cannot be shown again."`
}

// TokenList is one page of tokens, in the order of their ids.
type TokenList struct {
	Tokens     []Token `json:"tokens" nullable:"false"`
	NextCursor string  `json:"next_cursor,omitempty" doc:"Absent on the last page."`
}

// SecretInput asks for a signing secret. Without a body, and without fields, one is made.
type SecretInput struct {
	Secret  string `json:"secret,omitempty" maxLength:"128" doc:"Your own, in the form of Standard Webhooks: whsec_ and 24 to 64 bytes in base64. Absent: one is made."`
	Overlap string `json:"overlap,omitempty" pattern:"duration" example:"24h" doc:"How long the secrets there are go on signing beside this one. Absent: until they are removed."`
}

// Secret is what is shown of a signing secret.
type Secret struct {
	ID        string `json:"id"`
	CreatedAt string `json:"created_at" format:"date-time"`
	ExpiresAt string `json:"expires_at,omitempty" format:"date-time" doc:"When it stops signing. Absent: when it is removed."`
	Secret    string `json:"secret,omitempty" doc:"In the reply to the create alone: give it to the receivers, it is not shown again."`
}

// SecretList holds the secrets of a namespace that sign, the newest first.
type SecretList struct {
	Secrets []Secret `json:"secrets" nullable:"false"`
}

// NamespaceInput is what is decided of a namespace: the body of a PUT, which
// replaces all of it. 0 and absent: no limit.
type NamespaceInput struct {
	MaxPending  int64   `json:"max_pending,omitempty" minimum:"0" doc:"How many tasks may be scheduled or running."`
	MaxBytes    int64   `json:"max_bytes,omitempty" minimum:"0" doc:"How many bytes the bodies that are kept may have."`
	CreateRate  float64 `json:"create_rate,omitempty" minimum:"0" maximum:"1000000" doc:"How many tasks may be created in a second, at each server."`
	CreateBurst int     `json:"create_burst,omitempty" minimum:"0" maximum:"1000000" doc:"How many at once after a silence. 0 or absent: as many as a second brings, at least one. A batch larger than that is never taken whole."`
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
