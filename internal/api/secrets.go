package api

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

func (s *Server) listSecrets(w http.ResponseWriter, r *request) error {
	live := r.settings.AllSecrets(r.namespace, s.now())
	reply := wire.SecretList{Secrets: make([]wire.Secret, len(live))}
	for i, secret := range live {
		reply.Secrets[i] = showSecret(secret)
	}
	return s.reply(w, r, http.StatusOK, reply)
}

func (s *Server) createSecret(w http.ResponseWriter, r *request) error {
	e := settings.AddSecret{Namespace: r.namespace, ID: task.NewID(s.now())}
	if err := s.readOptional(w, r, func(rd *reader) error { return rd.decodeSecret(&e) }); err != nil {
		return err
	}
	if e.Secret == "" {
		e.Secret = settings.MintSecret()
	}
	changes, err := s.configure(w, r, "secret", e)
	if err != nil {
		return err
	}
	made := changes[0].Value.(*settings.SigningSecret) // the new one comes first
	shown := showSecret(made)
	shown.Secret = made.Secret
	w.Header().Set("Location", secretsPath+"/"+made.ID)
	return s.reply(w, r, http.StatusCreated, shown)
}

func (s *Server) deleteSecret(w http.ResponseWriter, r *request) error {
	if err := noBody(r); err != nil {
		return err
	}
	live, id := r.settings.AllSecrets(r.namespace, s.now()), r.id()
	i := slices.IndexFunc(live, func(secret *settings.SigningSecret) bool { return secret.ID == id })
	if i < 0 {
		return &settings.MissingError{What: "secret", Name: id}
	}
	if _, err := s.configure(w, r, "secret", settings.DropSecret{Namespace: r.namespace, Queue: live[i].Queue, ID: id}); err != nil {
		return err
	}
	shown := showSecret(live[i])
	shown.Unconfirmed = r.unconfirmed
	return s.replySetting(w, r, http.StatusOK, 0, "", shown)
}

// decodeSecret reads the request for a signing secret.
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

// secret reads a signing secret that the client chose. The error does not
// contain it.
func (r *reader) secret() (string, error) {
	text, err := r.Text()
	if err != nil {
		return "", err
	}
	const shortest, longest = 24, 64 // Standard Webhooks
	encoded, ok := strings.CutPrefix(text, settings.SecretPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || strings.ContainsAny(encoded, "\r\n") || len(key) < shortest || len(key) > longest {
		return "", refuse("bad_secret", "", "must be whsec_ and 24 to 64 bytes in base64; if absent, the server makes a secret")
	}
	return text, nil
}

// showSecret returns the record of a secret, without the secret.
func showSecret(secret *settings.SigningSecret) wire.Secret {
	return wire.Secret{ID: secret.ID, Queue: secret.Queue, NamespaceSignsUntil: showOptional(secret.BesideUntil), CreatedAt: showTime(secret.CreatedAt), ExpiresAt: showOptional(secret.ExpiresAt)}
}
