package service

import (
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/webhook"
)

// signingKeys returns the keys that sign the callbacks of a queue now, the
// newest key first. It is called for each attempt, and reads the settings each
// time. So a new secret is used at once, and an ended secret is no longer used.
func (s *Service) signingKeys(namespace, queue string) [][]byte {
	secrets := s.Store.Settings().Secrets(namespace, queue, task.FloorMillis(s.Now()))
	keys := make([][]byte, 0, len(secrets))
	for _, secret := range secrets {
		key, err := webhook.ParseSecret(secret.Secret)
		if err != nil { // cannot happen: a secret is parsed before it is accepted
			s.log.Error("a signing secret is invalid: callbacks are sent without its signature", "namespace", namespace, "queue", secret.Queue, "id", secret.ID)
			continue
		}
		keys = append(keys, key)
	}
	return keys
}

// LoopbackOpen reports whether tasks are allowed to call loopback addresses.
// They are allowed only while every client that can create tasks could also
// call these addresses without Foliot.
func (s *Service) LoopbackOpen() bool { return s.cfg.Private && !s.Store.Settings().Secured() }
