package api

import (
	"net/http"
	"slices"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

func (s *Server) listSecrets(w http.ResponseWriter, r *request) error {
	live := r.settings.AllSecrets(r.namespace, s.now())
	return s.writeItems(w, "secrets", len(live), func(i int) any { return showSecret(live[i]) }, "")
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
