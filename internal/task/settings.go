package task

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// SettingKind says what a setting is about. The numbers are part of the disk format.
type SettingKind uint8

// The kinds.
const (
	QueueKind SettingKind = 1 + iota
	NamespaceKind
	TokenKind
	SecretKind
)

// SettingKey names a setting. The namespace is "" for a NamespaceSettings, and
// AllNamespaces for an operator's token.
type SettingKey struct {
	Kind      SettingKind
	Namespace string
	Name      string
}

// Setting is one record of what operators decide: *QueueSettings,
// *NamespaceSettings, *AccessToken or *SigningSecret. One that a store or a
// Settings holds is never written to again.
type Setting interface {
	Key() SettingKey
}

// Settings is all that operators have decided, at one moment. It never
// changes, so it may be read by many goroutines, and kept for as long as an
// answer of that moment will do. There are thousands of settings, not
// millions: an edit copies the map.
type Settings struct {
	records map[SettingKey]Setting
	hashes  map[string]*AccessToken       // by AccessToken.Hash
	secrets map[QueueKey][]*SigningSecret // the newest first; the namespace's own under the queue ""
}

// NewSettings returns the settings that consist of these records.
func NewSettings(records ...Setting) *Settings {
	s := &Settings{records: make(map[SettingKey]Setting, len(records))}
	for _, r := range records {
		s.records[r.Key()] = r
	}
	s.index()
	return s
}

// index derives what is looked up otherwise than by key.
func (s *Settings) index() {
	s.hashes, s.secrets = map[string]*AccessToken{}, map[QueueKey][]*SigningSecret{}
	for _, r := range s.records {
		switch r := r.(type) {
		case *AccessToken:
			s.hashes[r.Hash] = r
		case *SigningSecret:
			key := QueueKey{r.Namespace, r.Queue}
			s.secrets[key] = append(s.secrets[key], r)
		}
	}
	for _, list := range s.secrets {
		slices.SortFunc(list, func(a, b *SigningSecret) int {
			return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.ID, a.ID))
		})
	}
}

// With returns the settings after changes, in their order.
func (s *Settings) With(changes ...SettingChange) *Settings {
	n := &Settings{records: maps.Clone(s.records)}
	for _, c := range changes {
		if c.Value == nil {
			delete(n.records, c.Key)
		} else {
			n.records[c.Key] = c.Value
		}
	}
	n.index()
	return n
}

// Get returns the setting of that key, or nil.
func (s *Settings) Get(key SettingKey) Setting { return s.records[key] }

// List returns the settings of a kind in the order of their namespaces and
// names; namespace "" chooses those of all.
func (s *Settings) List(kind SettingKind, namespace string) []Setting {
	var list []Setting
	for key, r := range s.records {
		if owner, _ := key.owner(); key.Kind == kind && (namespace == "" || owner == namespace) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Setting) int {
		return cmp.Or(cmp.Compare(a.Key().Namespace, b.Key().Namespace), cmp.Compare(a.Key().Name, b.Key().Name))
	})
	return list
}

// unset is the queue of which nothing was decided.
var unset = new(QueueSettings)

// Queue returns what was decided of a queue; where that is nothing, a value
// without name and limits. Never nil.
func (s *Settings) Queue(namespace, name string) *QueueSettings {
	if q, ok := s.records[SettingKey{QueueKind, namespace, name}].(*QueueSettings); ok {
		return q
	}
	return unset
}

// Namespace returns what was decided of a namespace, nil where it does not
// exist. The default namespace always does.
func (s *Settings) Namespace(name string) *NamespaceSettings {
	if n, ok := s.records[SettingKey{Kind: NamespaceKind, Name: name}].(*NamespaceSettings); ok {
		return n
	}
	if name == DefaultNamespace {
		return &NamespaceSettings{Name: name}
	}
	return nil
}

// Secured reports whether requests need a token: once there was one, for ever,
// so that revoking the last does not open the server to everybody.
func (s *Settings) Secured() bool { return len(s.hashes) > 0 }

// Token returns the access token whose hash this is and that holds at now, or nil.
func (s *Settings) Token(hash string, now Millis) *AccessToken {
	if t := s.hashes[hash]; t != nil && t.Holds(now) {
		return t
	}
	return nil
}

// Secrets returns the secrets that sign the callbacks of a queue at now, the
// newest first: the queue's own if it has one that is live, otherwise the
// namespace's. With "" for the queue it returns the namespace's.
func (s *Settings) Secrets(namespace, queue string, now Millis) []*SigningSecret {
	if queue == "" {
		return s.liveSecrets(namespace, "", now)
	}
	own := s.liveSecrets(namespace, queue, now)
	if len(own) == 0 {
		return s.liveSecrets(namespace, "", now)
	}
	if slices.ContainsFunc(own, func(secret *SigningSecret) bool { return now < secret.BesideUntil }) {
		return slices.Concat(own, s.liveSecrets(namespace, "", now))
	}
	return own
}

// AllSecrets returns all secrets of a namespace that are live at now: its own, then
// those of its queues in the order of their names. Of each, the newest is first.
func (s *Settings) AllSecrets(namespace string, now Millis) (all []*SigningSecret) {
	var queues []string
	for key := range s.secrets {
		if key.Namespace == namespace {
			queues = append(queues, key.Queue)
		}
	}
	slices.Sort(queues)
	for _, queue := range queues {
		all = append(all, s.liveSecrets(namespace, queue, now)...)
	}
	return all
}

// liveSecrets returns the secrets that a queue, or with "" the namespace, has itself.
func (s *Settings) liveSecrets(namespace, queue string, now Millis) []*SigningSecret {
	list := s.secrets[QueueKey{namespace, queue}]
	for _, secret := range list {
		if !secret.Live(now) {
			return slices.DeleteFunc(slices.Clone(list), func(s *SigningSecret) bool { return !s.Live(now) })
		}
	}
	return list
}

// Policy returns how long a queue's records are kept: as base says, where the
// queue does not say otherwise.
func (s *Settings) Policy(base Policy, namespace, queue string) Policy {
	q := s.Queue(namespace, queue)
	return Policy{KeepFinished: cmp.Or(q.KeepFinished, base.KeepFinished), KeepDead: cmp.Or(q.KeepDead, base.KeepDead)}
}

// EncodeSetting returns r as a store keeps it, behind its key: JSON, whose
// unknown fields older code ignores.
func EncodeSetting(r Setting) ([]byte, error) { return json.Marshal(r) }

// DecodeSetting is the inverse of EncodeSetting.
func DecodeSetting(kind SettingKind, data []byte) (Setting, error) {
	var r Setting
	switch kind {
	case QueueKind:
		r = new(QueueSettings)
	case NamespaceKind:
		r = new(NamespaceSettings)
	case TokenKind:
		r = new(AccessToken)
	case SecretKind:
		r = new(SigningSecret)
	default:
		return nil, fmt.Errorf("a setting of the unknown kind %d", kind)
	}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("a setting of kind %d: %w", kind, err)
	}
	return r, nil
}
