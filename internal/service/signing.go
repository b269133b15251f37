package service

import (
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/webhook"
)

// signingKeys returns the keys that sign a queue's callbacks now, the newest key
// first. It reads the settings for each attempt: a new secret signs at once, and
// an ended secret no longer signs.
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

// LoopbackOpen reports whether tasks are allowed to call loopback addresses. They
// are allowed only while every client that can create tasks could call loopback
// itself.
func (s *Service) LoopbackOpen() bool { return s.cfg.Private && !s.Store.Settings().Secured() }
