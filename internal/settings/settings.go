package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/task"
)

// SettingKind is the kind of a setting, a number that is part of the disk
// format.
type SettingKind uint8

// The kinds.
const (
	QueueKind SettingKind = 1 + iota
	NamespaceKind
	TokenKind
	SecretKind
	MigrationKind
)

// SettingKey names a setting, with the namespace "" for a NamespaceSettings,
// and AllNamespaces for an operator's token.
type SettingKey struct {
	Kind      SettingKind
	Namespace string
	Name      string
}

// Setting is one record of the operators' settings: *QueueSettings,
// *NamespaceSettings, *AccessToken, *SigningSecret or *Migration. A setting that a
// store or a Settings holds is never modified.
type Setting interface {
	Key() SettingKey
}

// Settings is a snapshot of all operators' settings, which never changes, so
// any goroutine may read it, and keep it while a snapshot of that time is good
// enough. An edit of a namespace costs about the same with any number of
// settings of other namespaces. Only edits of operators' tokens may read all tokens.
type Settings struct {
	records tree[Setting]
	hashes  tree[*AccessToken] // by hashKey
}

// hashKey returns the key in Settings.hashes of the token with this hash, which
// begins with the token's ID.
func hashKey(hash string) SettingKey { return SettingKey{Kind: TokenKind, Name: hash} }

// NewSettings returns the settings that consist of these records.
func NewSettings(records ...Setting) *Settings {
	all := make([]treeEntry[Setting], len(records))
	var hashes []treeEntry[*AccessToken]
	for i, r := range records {
		all[i] = treeEntry[Setting]{r.Key(), r}
		if t, ok := r.(*AccessToken); ok {
			hashes = append(hashes, treeEntry[*AccessToken]{hashKey(t.Hash), t})
		}
	}
	return &Settings{records: newTree(all), hashes: newTree(hashes)}
}

// With returns the settings after changes, in their order.
func (s *Settings) With(changes ...SettingChange) *Settings {
	n := *s
	for _, c := range changes {
		n.set(c.Key, c.Value)
	}
	return &n
}

// set replaces a record, or removes it if r is nil, in an s that must not be
// shared yet.
func (s *Settings) set(key SettingKey, r Setting) {
	old, _ := s.records.get(key)
	if t, ok := old.(*AccessToken); ok {
		s.hashes = s.hashes.remove(hashKey(t.Hash))
	}
	if r == nil {
		s.records = s.records.remove(key)
	} else {
		s.records = s.records.put(key, r)
	}
	if t, ok := r.(*AccessToken); ok {
		s.hashes = s.hashes.put(hashKey(t.Hash), t)
	}
}

// Get returns the setting of that key, or nil.
func (s *Settings) Get(key SettingKey) Setting {
	r, _ := s.records.get(key)
	return r
}

// List returns the settings of a kind in the order of their namespaces and
// names, those of all namespaces if namespace is "".
func (s *Settings) List(kind SettingKind, namespace string) (list []Setting) {
	collect := func(first string, mine func(namespace string) bool) {
		s.records.walk(SettingKey{Kind: kind, Namespace: first}, func(key SettingKey, r Setting) bool {
			ok := key.Kind == kind && mine(key.Namespace)
			if ok {
				list = append(list, r)
			}
			return ok
		})
	}
	if namespace == "" {
		collect("", func(string) bool { return true })
		return list
	}
	collect(namespace, func(n string) bool { return n == namespace })
	if kind == SecretKind { // and those of its queues
		queues := namespace + scopeMark
		collect(queues, func(n string) bool { return strings.HasPrefix(n, queues) })
	}
	return list
}

// count returns the number of settings of a kind in a namespace, where
// namespaces themselves are in namespace "". No name has a zero byte, so all
// keys that begin with namespace sort before namespace and that byte.
func (s *Settings) count(kind SettingKind, namespace string) int {
	return s.records.rank(SettingKey{Kind: kind, Namespace: namespace + "\x00"}) - s.records.rank(SettingKey{Kind: kind, Namespace: namespace})
}

// unset is the value of a queue without settings.
var unset = new(QueueSettings)

// Queue returns the settings of a queue, never nil: for a queue without
// settings it returns a value without name and limits.
func (s *Settings) Queue(namespace, name string) *QueueSettings {
	if q, ok := s.Get(SettingKey{QueueKind, namespace, name}).(*QueueSettings); ok {
		return q
	}
	return unset
}

// Namespace returns the settings of a namespace, or nil if it does not exist;
// the default namespace always exists.
func (s *Settings) Namespace(name string) *NamespaceSettings {
	if n, ok := s.Get(SettingKey{Kind: NamespaceKind, Name: name}).(*NamespaceSettings); ok {
		return n
	}
	if name == task.DefaultNamespace {
		return &unlimited
	}
	return nil
}

// unlimited has the settings of the default namespace until they are set, and
// never changes, like all settings.
var unlimited = NamespaceSettings{Name: task.DefaultNamespace}

// Shared reports whether there is more than one namespace.
func (s *Settings) Shared() bool {
	own := 0
	if s.Get(SettingKey{Kind: NamespaceKind, Name: task.DefaultNamespace}) != nil {
		own = 1
	}
	return s.count(NamespaceKind, "") > own
}

// Secured reports whether requests need a token. It is true forever once a
// token has been made, so that revoking the last token does not open the server
// to every client. The mark is the record of any token, valid or not, so
// ForgetTokens keeps the last one.
func (s *Settings) Secured() bool { return s.hashes.size > 0 }

// Token returns the access token that has this hash and is valid at now, or
// nil.
func (s *Settings) Token(hash string, now task.Millis) *AccessToken {
	if t, _ := s.hashes.get(hashKey(hash)); t != nil && t.Holds(now) {
		return t
	}
	return nil
}

// TokenByHash returns the access token with this hash, valid or not, or nil.
func (s *Settings) TokenByHash(hash string) *AccessToken {
	t, _ := s.hashes.get(hashKey(hash))
	return t
}

// TokenByID returns the access token with that ID, of any namespace, or nil.
func (s *Settings) TokenByID(id string) (found *AccessToken) {
	s.hashes.walk(hashKey(id), func(_ SettingKey, t *AccessToken) bool {
		if t.ID == id {
			found = t
		}
		return false
	})
	return found
}

// Secrets returns the secrets that sign the callbacks of a queue at now, the
// newest first: the queue's own if it has a live one, otherwise, and with queue
// "", the namespace's.
func (s *Settings) Secrets(namespace, queue string, now task.Millis) []*SigningSecret {
	if queue == "" {
		return s.liveSecrets(namespace, now)
	}
	own := s.liveSecrets(secretScope(namespace, queue), now)
	if len(own) == 0 {
		return s.liveSecrets(namespace, now)
	}
	if slices.ContainsFunc(own, func(secret *SigningSecret) bool { return now < secret.BesideUntil }) {
		return append(own, s.liveSecrets(namespace, now)...)
	}
	return own
}

// AllSecrets returns all secrets of a namespace that are live at now: its own,
// then those of its queues in the order of their names. The newest of each
// group is first.
func (s *Settings) AllSecrets(namespace string, now task.Millis) (all []*SigningSecret) {
	for _, r := range s.List(SecretKind, namespace) {
		if secret := r.(*SigningSecret); secret.Live(now) {
			all = append(all, secret)
		}
	}
	slices.SortFunc(all, func(a, b *SigningSecret) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), newer(a, b))
	})
	return all
}

func (s *Settings) liveSecrets(scope string, now task.Millis) []*SigningSecret {
	return slices.DeleteFunc(s.secretsOf(scope), func(secret *SigningSecret) bool { return !secret.Live(now) })
}

// Policy returns how long a queue's records are kept: base, with the fields
// that the queue sets.
func (s *Settings) Policy(base task.Policy, namespace, queue string) task.Policy {
	q := s.Queue(namespace, queue)
	return task.Policy{KeepFinished: cmp.Or(q.KeepFinished, base.KeepFinished), KeepDead: cmp.Or(q.KeepDead, base.KeepDead), KeepBodies: q.KeepBodies}
}

// EncodeSetting returns r as a store keeps it, under its key: JSON.
func EncodeSetting(r Setting) ([]byte, error) { return json.Marshal(r) }

// Field returns k as text, as a store may name a setting.
func (k SettingKey) Field() string {
	return strconv.Itoa(int(k.Kind)) + "/" + k.Namespace + "/" + k.Name
}

// ParseSetting is DecodeSetting for the setting with this field.
func ParseSetting(field string, data []byte) (Setting, error) {
	kind, _, _ := strings.Cut(field, "/")
	n, err := strconv.ParseUint(kind, 10, 8)
	if err != nil {
		return nil, err
	}
	r, err := DecodeSetting(SettingKind(n), data)
	if err == nil && r.Key().Field() != field {
		return nil, fmt.Errorf("it has the content of %+v", r.Key())
	}
	return r, err
}

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
	case MigrationKind:
		r = new(Migration)
	default:
		return nil, fmt.Errorf("a setting of the unknown kind %d", kind)
	}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("a setting of kind %d: %w", kind, err)
	}
	return r, nil
}
