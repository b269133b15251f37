package task

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
)

// SigningSecret signs the deliveries of a namespace, as Standard Webhooks says.
// It is kept as it is: whoever signs must know it.
type SigningSecret struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	Secret    string `json:"key"`                  // "whsec_" and the key in base64
	CreatedAt Millis `json:"created_at"`           //
	ExpiresAt Millis `json:"expires_at,omitempty"` // when it stops signing; 0: when it is removed
}

// Key implements Setting.
func (s *SigningSecret) Key() SettingKey { return SettingKey{SecretKind, s.Namespace, s.ID} }

// Live reports whether the secret signs at now.
func (s *SigningSecret) Live(now Millis) bool { return s.ExpiresAt == 0 || now < s.ExpiresAt }

const (
	// SecretPrefix begins a secret in Standard Webhooks' form.
	SecretPrefix = "whsec_"
	secretBytes  = 32

	// MaxSecrets is how many secrets of a namespace sign at once: the new one and
	// the one that it follows.
	MaxSecrets = 2
)

// MintSecret returns a new secret of 256 random bits.
func MintSecret() string {
	var raw [secretBytes]byte
	_, _ = rand.Read(raw[:]) // never fails
	return SecretPrefix + base64.StdEncoding.EncodeToString(raw[:])
}

// AddSecret makes a secret that signs from now on, beside the one before it.
type AddSecret struct {
	Namespace string
	ID        string // from NewID
	Secret    string // from MintSecret, or a client's own
	// Overlap, where it is not 0, is how long the secrets there are go on
	// signing: a rotation in one step. 0: until they are removed.
	Overlap Millis
}

// Action implements Edit.
func (e AddSecret) Action() string { return "secret.create" }

// Target implements Edit.
func (e AddSecret) Target() SettingKey { return SettingKey{SecretKind, e.Namespace, e.ID} }

// Apply implements Edit. Secrets that no longer sign go. Errors: *MissingError
// for the namespace, *BusyError where two sign already.
func (e AddSecret) Apply(now Millis, s *Settings) ([]SettingChange, error) {
	if s.Namespace(e.Namespace) == nil {
		return nil, &MissingError{"namespace", e.Namespace}
	}
	changes := change(&SigningSecret{ID: e.ID, Namespace: e.Namespace, Secret: e.Secret, CreatedAt: now})
	live := 0
	for _, r := range s.List(SecretKind, e.Namespace) {
		old := *r.(*SigningSecret)
		if !old.Live(now) {
			changes = append(changes, SettingChange{Key: old.Key()})
			continue
		}
		live++
		if e.Overlap > 0 && (old.ExpiresAt == 0 || old.ExpiresAt > now+e.Overlap) {
			old.ExpiresAt = now + e.Overlap
			changes = append(changes, SettingChange{Key: old.Key(), Value: &old})
		}
	}
	if live >= MaxSecrets {
		return nil, &BusyError{"namespace", e.Namespace, fmt.Sprintf("it has %d secrets that sign, as many as it may: remove the oldest first", MaxSecrets)}
	}
	return changes, nil
}

// DropSecret removes a secret: it signs nothing any more.
type DropSecret struct{ Namespace, ID string }

// Action implements Edit.
func (e DropSecret) Action() string { return "secret.delete" }

// Target implements Edit.
func (e DropSecret) Target() SettingKey { return SettingKey{SecretKind, e.Namespace, e.ID} }

// Apply implements Edit. Errors: *MissingError.
func (e DropSecret) Apply(_ Millis, s *Settings) ([]SettingChange, error) {
	if s.Get(e.Target()) == nil {
		return nil, &MissingError{"secret", e.ID}
	}
	return []SettingChange{{Key: e.Target()}}, nil
}
