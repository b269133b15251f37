package settings

import (
	"cmp"
	"fmt"

	"github.com/foliot/foliot/internal/task"
)

// AllNamespaces is the namespace of an operator's token.
const AllNamespaces = "*"

// reservedNamespace is how users and the command line refer to AllNamespaces.
// If a namespace could have this name, a user who requests a token for it would
// get a token for the whole server.
const reservedNamespace = "operator"

// NamespaceSettings is a namespace with its quotas, where absent fields set no limit.
type NamespaceSettings struct {
	Name      string      `json:"name"`
	Version   uint64      `json:"version"`
	CreatedAt task.Millis `json:"created_at"`

	MaxPending int64 `json:"max_pending,omitempty"` // tasks scheduled or running, and schedules
	MaxBytes   int64 `json:"max_bytes,omitempty"`   // of all records

	// Rates are requests a second at each server: see Limit for the defaults.
	CreateRate  float64 `json:"create_rate,omitempty"`
	CreateBurst int     `json:"create_burst,omitempty"`
	ChangeRate  float64 `json:"change_rate,omitempty"`
	ReadRate    float64 `json:"read_rate,omitempty"`
	EditRate    float64 `json:"edit_rate,omitempty"`

	// Suspended stops the namespace: its tasks are not created, delivered or
	// fired, and its own tokens only read.
	Suspended bool `json:"suspended,omitempty"`

	// HidePayloads hides bodies, headers and replies from tokens of scope read.
	HidePayloads bool `json:"hide_payloads,omitempty"`

	// Kinds allows tasks with a kind. A program that runs them on the same store
	// is not a client of the server, so the operator must say that it exists.
	Kinds bool `json:"kinds,omitempty"`

	ManagedBy string `json:"managed_by,omitempty"` // see QueueSettings

	Closing string `json:"closing,omitempty"` // see CloseNamespace; empty means no mark
}

func (n *NamespaceSettings) Key() SettingKey { return SettingKey{Kind: NamespaceKind, Name: n.Name} }

// ETag returns the entity tag of the record, without quotes.
func (n *NamespaceSettings) ETag() string { return fmt.Sprintf("%d.%d", n.CreatedAt, n.Version) }

// Validate checks the fields that a client may set. Errors: *FieldError.
func (n *NamespaceSettings) Validate() error {
	if err := task.ValidateName("namespace", n.Name); err != nil {
		return err
	}
	if err := task.ValidateOwner(n.ManagedBy); err != nil {
		return err
	}
	switch {
	case n.Name == reservedNamespace:
		return &task.FieldError{Path: "namespace", Code: "bad_name", Detail: fmt.Sprintf("%q means the operator of the whole server: choose another name for the namespace", n.Name)}
	case n.MaxPending < 0:
		return &task.FieldError{Path: "max_pending", Code: "out_of_range", Detail: "must be at least 1"}
	case n.MaxBytes < 0:
		return &task.FieldError{Path: "max_bytes", Code: "out_of_range", Detail: "must be at least 1"}
	case n.CreateBurst < 0 || n.CreateBurst > MaxConcurrency:
		return &task.FieldError{Path: "create_burst", Code: "out_of_range", Detail: fmt.Sprintf("must be between 0 (one second's worth) and %d", MaxConcurrency)}
	}
	for _, r := range []struct {
		field Rate
		value float64
	}{{CreateRate, n.CreateRate}, {ChangeRate, n.ChangeRate}, {ReadRate, n.ReadRate}, {EditRate, n.EditRate}} {
		if err := validateRate(string(r.field), r.value, "suspend the namespace"); err != nil {
			return err
		}
	}
	return nil
}

// Quota returns the namespace's quotas with its present counts; a nil n has no limits.
func (n *NamespaceSettings) Quota(have task.Counts) task.Quota {
	if n == nil {
		return task.Quota{}
	}
	return task.Quota{Suspended: n.Suspended, MaxPending: n.MaxPending, MaxBytes: n.MaxBytes, Have: have}
}

// PutNamespace makes a namespace or sets its quotas.
type PutNamespace struct {
	Settings NamespaceSettings // its ManagedBy is ignored
	Owner    *string           // ManagedBy after the edit; nil keeps the present one
	If       task.Precondition
}

func (e PutNamespace) Action() string { return "namespace.put" }

func (e PutNamespace) Target() SettingKey { return e.Settings.Key() }

// Apply implements Edit. Errors: *FieldError, ErrPrecondition.
func (e PutNamespace) Apply(now task.Millis, s *Settings) ([]SettingChange, error) {
	n := e.Settings
	n.ManagedBy = ""
	old, _ := s.Get(e.Target()).(*NamespaceSettings)
	if old != nil {
		n.ManagedBy = old.ManagedBy
	}
	task.Set(&n.ManagedBy, e.Owner)
	if err := n.Validate(); err != nil {
		return nil, err
	}
	exists, tag := old != nil, ""
	if exists {
		tag = old.ETag()
		n.Version, n.CreatedAt = old.Version, old.CreatedAt
	}
	if err := e.If.CheckTag(exists, tag); err != nil {
		return nil, err
	}
	n.Version, n.CreatedAt = n.Version+1, cmp.Or(n.CreatedAt, now)
	return change(&n), nil
}

// DropNamespace removes a namespace without tasks, schedules and valid tokens.
type DropNamespace struct {
	Name string
	If   task.Precondition

	// Tasks and Schedules are the numbers that the namespace has. The store sets them in
	// the step that makes the edit, so no task can be created in between.
	Tasks, Schedules int64

	// Closing is the mark that CloseNamespace left, set only by a store that needs several
	// steps.
	Closing string
}

func (e DropNamespace) Action() string { return "namespace.delete" }

func (e DropNamespace) Target() SettingKey { return SettingKey{Kind: NamespaceKind, Name: e.Name} }

// Apply implements Edit. Errors: *MissingError, ErrPrecondition, *BusyError.
func (e DropNamespace) Apply(now task.Millis, s *Settings) ([]SettingChange, error) {
	old, err := s.droppable(now, e.Name)
	if err != nil {
		return nil, err
	}
	if err := e.If.CheckTag(true, old.ETag()); err != nil {
		return nil, err
	}
	switch {
	case e.Schedules > 0:
		return nil, &BusyError{"namespace", e.Name, fmt.Sprintf("it has %d schedules: delete them", e.Schedules)}
	case e.Tasks > 0:
		return nil, &BusyError{"namespace", e.Name, fmt.Sprintf("it has %d tasks, finished tasks included: cancel the others, and wait until their retention ends", e.Tasks)}
	case e.Closing != old.Closing:
		return nil, &BusyError{"namespace", e.Name, "another request created a task or changed the namespace at the same time: repeat the request"}
	}
	changes := []SettingChange{{Key: e.Target()}}
	for _, kind := range []SettingKind{QueueKind, SecretKind} {
		changes = append(changes, s.remove(kind, e.Name)...)
	}
	return changes, nil
}

// Count adds the counts of one queue of the namespace, without removed schedules,
// because their records stay until the next sweep.
func (e *DropNamespace) Count(queue string, c task.Counts) {
	if queue == task.ScheduleQueue {
		e.Schedules += c.States[task.Scheduled]
	} else {
		e.Tasks += c.Total()
	}
}

// droppable returns the record of a namespace without valid tokens, unless it is the
// default namespace, which always exists. Errors: *MissingError, *BusyError.
func (s *Settings) droppable(now task.Millis, name string) (*NamespaceSettings, error) {
	if name == task.DefaultNamespace {
		return nil, &BusyError{"namespace", name, "it always exists: only its quotas can be changed"}
	}
	n, ok := s.Get(SettingKey{Kind: NamespaceKind, Name: name}).(*NamespaceSettings)
	if !ok {
		return nil, &MissingError{"namespace", name}
	}
	for _, r := range s.List(TokenKind, name) {
		if r.(*AccessToken).Holds(now) {
			return nil, &BusyError{"namespace", name, "it still has valid tokens: revoke them first"}
		}
	}
	return n, nil
}

// CloseNamespace marks a namespace that a store is about to remove in several steps. The
// mark blocks nothing, but a store that makes a task in a marked namespace removes the mark
// first, with an empty Mark, so DropNamespace fails.
type CloseNamespace struct{ Name, Mark string }

func (e CloseNamespace) Action() string { return "" }

func (e CloseNamespace) Target() SettingKey { return SettingKey{Kind: NamespaceKind, Name: e.Name} }

// Apply implements Edit. Errors: *MissingError, *BusyError; none without a Mark.
func (e CloseNamespace) Apply(now task.Millis, s *Settings) ([]SettingChange, error) {
	old := s.Namespace(e.Name)
	if e.Mark != "" {
		var err error
		if old, err = s.droppable(now, e.Name); err != nil {
			return nil, err
		}
	} else if !s.Closing(e.Name) {
		return nil, nil
	}
	n := *old
	n.Closing = e.Mark
	return change(&n), nil
}

// Closing reports whether a namespace has the mark of CloseNamespace.
func (s *Settings) Closing(namespace string) bool {
	n, ok := s.Get(SettingKey{Kind: NamespaceKind, Name: namespace}).(*NamespaceSettings)
	return ok && n.Closing != ""
}

// Takes returns an error if t must not replace old, because t would be a new task in a
// namespace that does not exist. old is nil if there is no record; a store calls Takes in
// the step that makes t. Errors: *MissingError.
func (s *Settings) Takes(old, t *task.Task) error {
	if old != nil || t == nil || t.Namespace == task.DefaultNamespace || s.Get(SettingKey{Kind: NamespaceKind, Name: t.Namespace}) != nil {
		return nil
	}
	return &MissingError{"namespace", t.Namespace}
}

// remove returns the changes that remove all settings of a kind that belong to a namespace.
func (s *Settings) remove(kind SettingKind, namespace string) (changes []SettingChange) {
	for _, r := range s.List(kind, namespace) {
		changes = append(changes, SettingChange{Key: r.Key()})
	}
	return changes
}
