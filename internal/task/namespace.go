package task

import (
	"cmp"
	"fmt"
	"math"
)

// AllNamespaces is the namespace of an operator's token.
const AllNamespaces = "*"

// reservedNamespace is how people, and the command line, call AllNamespaces: who asked for a token of a namespace of that
// name would be handed the whole server.
const reservedNamespace = "operator"

// NamespaceSettings is a tenant and its quotas. Zero quotas are none.
type NamespaceSettings struct {
	Name      string `json:"name"`
	Version   uint64 `json:"version"`
	CreatedAt Millis `json:"created_at"`

	MaxPending int64 `json:"max_pending,omitempty"` // tasks scheduled or running
	MaxBytes   int64 `json:"max_bytes,omitempty"`   // of the bodies that are kept

	CreateRate  float64 `json:"create_rate,omitempty"` // creates a second, by each server
	CreateBurst int     `json:"create_burst,omitempty"`
}

// Key implements Setting.
func (n *NamespaceSettings) Key() SettingKey { return SettingKey{Kind: NamespaceKind, Name: n.Name} }

// ETag returns the entity tag of the record, without quotes.
func (n *NamespaceSettings) ETag() string { return fmt.Sprintf("%d.%d", n.CreatedAt, n.Version) }

// Validate checks what a client may set. Errors: *FieldError.
func (n *NamespaceSettings) Validate() error {
	if err := ValidateName("namespace", n.Name); err != nil {
		return err
	}
	switch {
	case n.Name == reservedNamespace:
		return &FieldError{"namespace", "bad_name", fmt.Sprintf("%q is a word for whoever runs the whole server: give the namespace another name", n.Name)}
	case n.MaxPending < 0:
		return &FieldError{"max_pending", "out_of_range", "max_pending is 0 (no limit) or more"}
	case n.MaxBytes < 0:
		return &FieldError{"max_bytes", "out_of_range", "max_bytes is 0 (no limit) or more"}
	case math.IsNaN(n.CreateRate) || n.CreateRate < 0 || n.CreateRate > MaxRate:
		return &FieldError{"create_rate", "out_of_range", fmt.Sprintf("create_rate lies between 0 (no limit) and %d a second", int(MaxRate))}
	case n.CreateBurst < 0 || n.CreateBurst > MaxConcurrency:
		return &FieldError{"create_burst", "out_of_range", fmt.Sprintf("create_burst lies between 0 and %d", MaxConcurrency)}
	}
	return nil
}

// Admit reports whether a change from old, nil where there was no record, to t
// stays within the quotas, given what the namespace has now. Only what makes
// more is refused. Errors: *QuotaError.
func (n *NamespaceSettings) Admit(have Counts, old, t *Task) error {
	if n == nil {
		return nil
	}
	var diff Counts
	diff.Move(old, t)
	switch {
	case n.MaxPending > 0 && diff.Pending() > 0 && have.Pending()+diff.Pending() > n.MaxPending:
		return &QuotaError{t.Namespace, QuotaPending, n.MaxPending}
	case n.MaxBytes > 0 && diff.Bytes > 0 && have.Bytes+diff.Bytes > n.MaxBytes:
		return &QuotaError{t.Namespace, QuotaBytes, n.MaxBytes}
	}
	return nil
}

// PutNamespace makes a namespace or sets its quotas.
type PutNamespace struct {
	Settings NamespaceSettings
	If       Precondition
}

// Action implements Edit.
func (e PutNamespace) Action() string { return "namespace.put" }

// Target implements Edit.
func (e PutNamespace) Target() SettingKey { return e.Settings.Key() }

// Apply implements Edit. Errors: *FieldError, ErrPrecondition.
func (e PutNamespace) Apply(now Millis, s *Settings) ([]SettingChange, error) {
	n := e.Settings
	if err := n.Validate(); err != nil {
		return nil, err
	}
	old, _ := s.Get(e.Target()).(*NamespaceSettings)
	exists, tag := old != nil, ""
	if exists {
		tag = old.ETag()
		n.Version, n.CreatedAt = old.Version, old.CreatedAt
	}
	if err := e.If.checkTag(exists, tag); err != nil {
		return nil, err
	}
	n.Version, n.CreatedAt = n.Version+1, cmp.Or(n.CreatedAt, now)
	return change(&n), nil
}

// DropNamespace removes a namespace of which nothing is left. That no task is
// left the caller has seen; what comes in between keeps its records and is
// seen again when the namespace is made again.
type DropNamespace struct{ Name string }

// Action implements Edit.
func (e DropNamespace) Action() string { return "namespace.delete" }

// Target implements Edit.
func (e DropNamespace) Target() SettingKey { return SettingKey{Kind: NamespaceKind, Name: e.Name} }

// Apply implements Edit. Errors: *MissingError, *BusyError.
func (e DropNamespace) Apply(now Millis, s *Settings) ([]SettingChange, error) {
	if s.Get(e.Target()) == nil {
		return nil, &MissingError{"namespace", e.Name}
	}
	changes := []SettingChange{{Key: e.Target()}}
	for _, r := range s.List(TokenKind, e.Name) {
		if r.(*AccessToken).Holds(now) {
			return nil, &BusyError{"namespace", e.Name, "tokens of it hold: revoke them first"}
		}
	}
	for _, kind := range []SettingKind{QueueKind, SecretKind} {
		for _, r := range s.List(kind, e.Name) {
			changes = append(changes, SettingChange{Key: r.Key()})
		}
	}
	return changes, nil
}
