package api

import (
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/webhook"
)

var (
	queueFields     = readerOf[wire.QueueInput, settings.QueueSettings]("to stop the queue, pause it")
	namespaceFields = readerOf[wire.NamespaceInput, settings.NamespaceSettings]("to stop the namespace, set suspended")

	readOnlyOfQueue = replyOnly[wire.Queue, wire.QueueInput]()
)

func (r *reader) decodeQueue(q *settings.QueueSettings, owner **string) error {
	return r.decodeSetting(q.Name, owner, queueFields, readOnlyOfQueue, q)
}

func (r *reader) decodeNamespace(n *settings.NamespaceSettings, owner **string) error {
	return r.decodeSetting(n.Name, owner, namespaceFields, nil, n)
}

// decodeSetting reads a setting of that name with plain, and refuses the fields in
// readOnly. Absent fields set nothing, and an absent owner leaves owner unchanged.
func (r *reader) decodeSetting(name string, owner **string, plain *fieldReader, readOnly map[string]bool, into any) error {
	return r.Object(func(key []byte) (err error) {
		switch field := string(key); {
		case field == "name":
			err = r.sameName(name)
		case field == "managed_by": // an empty text removes the owner
			*owner = new(string)
			**owner, err = r.Text()
		case readOnly[field]:
			err = refuse("unknown_field", "", "read-only field: leave it out; pause, resume and purge have routes of their own")
		default:
			err = plain.read(r, key, into)
		}
		return err
	})
}

// sameName reads a name that must be the one in the path.
func (r *reader) sameName(want string) error {
	got, err := r.Text()
	if err == nil && got != want {
		err = refuse("name_mismatch", "", "differs from the name in the path: leave it out")
	}
	return err
}

func (r *reader) decodeToken(e *settings.AddToken, now func() task.Millis) error {
	until := end{now: now}
	scoped := false
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "scope":
			scoped = true
			e.Scope, err = choice(r, "bad_scope", settings.ParseScope, "read", "write", "admin")
		case "namespace":
			e.Namespace, err = r.namespace()
		case "label":
			e.Label, err = r.Text()
		case "expires_in":
			err = until.read(r, key, (*reader).ahead)
		case "expires_at":
			err = until.read(r, key, (*reader).later)
		default:
			err = noSuchField(key, tokenFields)
		}
		return err
	})
	if err == nil && !scoped {
		err = refuse("required", "scope", "missing: a token needs a scope: read, write or admin")
	}
	e.ExpiresAt = until.at
	return err
}

func (r *reader) namespace() (string, error) {
	name, err := r.Text()
	if err == nil && name != settings.AllNamespaces {
		err = task.ValidateName("", name)
	}
	return name, err
}

func (r *reader) decodeSecret(e *settings.AddSecret) error {
	return r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "secret":
			e.Secret, err = r.secret()
		case "overlap":
			e.Overlap, err = r.ahead(0)
		case "queue":
			if e.Queue, err = r.Text(); err == nil && e.Queue == "" { // AddSecret would create a secret of the namespace
				err = refuse("bad_name", "", "must not be empty: leave it out for a secret of the namespace")
			}
		default:
			err = noSuchField(key, secretFields)
		}
		return err
	})
}

// secret reads a signing secret that the client chose, which its error does not
// contain.
func (r *reader) secret() (string, error) {
	text, err := r.Text()
	if err != nil {
		return "", err
	}
	if webhook.CheckSecret(text) != nil {
		return "", refuse("bad_secret", "", "must be whsec_ and 24 to 64 bytes in base64; if absent, the server makes a secret")
	}
	return text, nil
}

func (e *end) decodePause(r *reader) error {
	return r.Object(func(key []byte) error {
		switch string(key) {
		case "for":
			return e.read(r, key, (*reader).ahead)
		case "until":
			return e.read(r, key, (*reader).later)
		}
		return refuse("unknown_field", "", "unknown field: a pause has for (a duration), until (a time), or neither")
	})
}

// end reads one of two alternative fields, an instant or a duration.
type end struct {
	now   func() task.Millis // called when a field is read
	at    task.Millis        // zero means that neither was given
	field string
}

func (e *end) read(r *reader, key []byte, read func(*reader, task.Millis) (task.Millis, error)) (err error) {
	if e.field != "" {
		return refuse("two_times", "", "cannot be combined with "+e.field)
	}
	e.field = string(key)
	e.at, err = read(r, e.now())
	return err
}

func (r *reader) ahead(now task.Millis) (task.Millis, error) {
	d, err := r.duration()
	switch {
	case err != nil:
		return 0, err
	case d <= 0 || d > task.MaxDuration:
		return 0, refuse("out_of_range", "", "must be between 1ns and 100 years")
	}
	return now.Add(d), nil
}

func (r *reader) later(now task.Millis) (task.Millis, error) {
	at, err := r.instant()
	if err == nil && (at <= now || at > now.Add(task.MaxDuration)) {
		err = refuse("out_of_range", "", "must be in the future, at most 100 years ahead")
	}
	return at, err
}
