package settings

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/foliot/foliot/internal/task"
)

// SigningSecret signs the callbacks of a namespace, or of one of its queues, as
// Standard Webhooks defines. The store keeps it in clear, because signing needs it.
type SigningSecret struct {
	ID        string      `json:"id"`
	Namespace string      `json:"namespace"`            // see secretScope for a queue's secret
	Queue     string      `json:"-"`                    // empty means all queues that have no secret of their own
	Secret    string      `json:"key"`                  // "whsec_" and the key in base64
	CreatedAt task.Millis `json:"created_at"`           //
	ExpiresAt task.Millis `json:"expires_at,omitempty"` // when the secret stops signing; zero means that it signs until it is removed

	// BesideUntil is set on a queue's first secret only: until then the namespace's
	// secrets also sign the queue's callbacks, and zero means that they stopped at
	// once.
	BesideUntil task.Millis `json:"beside_until,omitempty"`
}

func (s *SigningSecret) Key() SettingKey {
	return SettingKey{SecretKind, secretScope(s.Namespace, s.Queue), s.ID}
}

// scopeMark separates namespace and queue in the scope of a queue's secret, because
// no name can contain it.
const scopeMark = "/"

// secretScope returns the namespace under which a secret is stored: for a queue's
// secret, for example, "acme/orders", which is the name of no namespace.
func secretScope(namespace, queue string) string {
	if queue == "" {
		return namespace
	}
	return namespace + scopeMark + queue
}

// owner returns the namespace that the setting belongs to, and the queue if it is
// a queue's secret.
func (k SettingKey) owner() (namespace, queue string) {
	if k.Kind != SecretKind {
		return k.Namespace, ""
	}
	namespace, queue, _ = strings.Cut(k.Namespace, scopeMark)
	return namespace, queue
}

// plainSecret is a SigningSecret without its methods.
type plainSecret SigningSecret

// MarshalJSON returns the record as stores keep it.
func (s SigningSecret) MarshalJSON() ([]byte, error) {
	s.Namespace = secretScope(s.Namespace, s.Queue)
	return json.Marshal(plainSecret(s))
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (s *SigningSecret) UnmarshalJSON(data []byte) error {
	var read plainSecret
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	read.Namespace, read.Queue, _ = strings.Cut(read.Namespace, scopeMark)
	*s = SigningSecret(read)
	return nil
}

// Live reports whether the secret signs at now.
func (s *SigningSecret) Live(now task.Millis) bool { return s.ExpiresAt == 0 || now < s.ExpiresAt }

const (
	// SecretPrefix begins a secret in Standard Webhooks' form.
	SecretPrefix = "whsec_"
	secretBytes  = 32

	// MaxSecrets is how many secrets of a namespace, and of each queue, sign at
	// once: the new one and the one before it.
	MaxSecrets = 2

	// MaxSecretQueues is how many queues of a namespace may have secrets of their
	// own.
	MaxSecretQueues = 1000
)

// MintSecret returns a new secret of 256 random bits.
func MintSecret() string {
	var raw [secretBytes]byte
	_, _ = rand.Read(raw[:]) // never fails
	return SecretPrefix + base64.StdEncoding.EncodeToString(raw[:])
}

// AddSecret makes a secret that signs from now on.
type AddSecret struct {
	Namespace string
	Queue     string // empty means all queues of the namespace that have no secret of their own
	ID        string // from NewID
	Secret    string // from MintSecret, or a client's own
	// Overlap is how long the present secrets still sign: a rotation in one step.
	// If it is 0, they sign until they are removed, except at the first secret of a
	// queue. Then the namespace's secrets stop signing for the queue at once,
	// because all receivers of the namespace know them.
	Overlap task.Millis
}

func (e AddSecret) Action() string { return "secret.create" }

func (e AddSecret) Target() SettingKey {
	return SettingKey{SecretKind, secretScope(e.Namespace, e.Queue), e.ID}
}

// Apply implements Edit. The new secret comes first in the changes, and secrets
// that no longer sign are removed. Errors: *MissingError for the namespace,
// *FieldError, *BusyError if there are too many secrets, or too many queues with
// secrets.
func (e AddSecret) Apply(now task.Millis, s *Settings) ([]SettingChange, error) {
	if s.Namespace(e.Namespace) == nil {
		return nil, &MissingError{"namespace", e.Namespace}
	}
	what, name, own := "namespace", e.Namespace, s.secretsOf(secretScope(e.Namespace, e.Queue))
	if e.Queue != "" {
		if err := task.ValidateName("queue", e.Queue); err != nil {
			return nil, err
		}
		if len(own) == 0 && s.secretQueues(e.Namespace) >= MaxSecretQueues {
			return nil, &BusyError{"namespace", e.Namespace, fmt.Sprintf("%d of its queues have secrets of their own, the maximum: remove the secrets of another queue first", MaxSecretQueues)}
		}
		what, name = "queue", e.Queue
	}
	made := &SigningSecret{ID: e.ID, Namespace: e.Namespace, Queue: e.Queue, Secret: e.Secret, CreatedAt: now}
	changes := change(made)
	live := 0
	for _, r := range own {
		old := *r
		if !old.Live(now) {
			changes = append(changes, SettingChange{Key: old.Key()})
			continue
		}
		live++
		made.BesideUntil = max(made.BesideUntil, old.BesideUntil)
		if e.Overlap > 0 && (old.ExpiresAt == 0 || old.ExpiresAt > now+e.Overlap) {
			old.ExpiresAt = now + e.Overlap
			changes = append(changes, SettingChange{Key: old.Key(), Value: &old})
		}
	}
	switch {
	case live >= MaxSecrets:
		return nil, &BusyError{what, name, fmt.Sprintf("it has %d secrets that sign, the maximum: remove the oldest first", MaxSecrets)}
	case live == 0 && e.Queue != "" && e.Overlap > 0:
		made.BesideUntil = now + e.Overlap
	}
	return changes, nil
}

// secretQueues returns how many queues of a namespace have secrets of their own.
func (s *Settings) secretQueues(namespace string) int {
	queues := map[string]bool{}
	for _, r := range s.List(SecretKind, namespace) {
		queues[r.(*SigningSecret).Queue] = true
	}
	delete(queues, "")
	return len(queues)
}

// secretsOf returns the secrets of a scope (secretScope), the newest first. There are
// few, so they are sorted at each call.
func (s *Settings) secretsOf(scope string) (list []*SigningSecret) {
	s.records.walk(SettingKey{Kind: SecretKind, Namespace: scope}, func(key SettingKey, r Setting) bool {
		if key.Kind != SecretKind || key.Namespace != scope {
			return false
		}
		list = append(list, r.(*SigningSecret))
		return true
	})
	slices.SortFunc(list, newer)
	return list
}

// newer puts the newer of two secrets first.
func newer(a, b *SigningSecret) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

// DropSecret removes a secret, which then signs nothing. When a queue's last
// secret is removed, the namespace's secrets sign its callbacks again.
type DropSecret struct {
	Namespace string
	Queue     string // the owner of the secret; empty means the namespace
	ID        string
}

func (e DropSecret) Action() string { return "secret.delete" }

func (e DropSecret) Target() SettingKey {
	return SettingKey{SecretKind, secretScope(e.Namespace, e.Queue), e.ID}
}

// Apply implements Edit. Errors: *MissingError.
func (e DropSecret) Apply(_ task.Millis, s *Settings) ([]SettingChange, error) {
	if s.Get(e.Target()) == nil {
		return nil, &MissingError{"secret", e.ID}
	}
	return []SettingChange{{Key: e.Target()}}, nil
}
