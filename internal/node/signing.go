package node

import (
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/webhook"
)

// signingKeys returns the keys that sign a queue's callbacks now, the newest first. They are read from the settings for each attempt: a new secret
// signs at once, and one that ended signs nothing more.
func (n *Node) signingKeys(namespace, queue string) [][]byte {
	secrets := n.Store.Settings().Secrets(namespace, queue, task.FloorMillis(n.clock()))
	keys := make([][]byte, 0, len(secrets))
	for _, s := range secrets {
		key, err := webhook.ParseSecret(s.Secret)
		if err != nil { // none that was accepted is
			n.log.Error("a signing secret cannot be read and does not sign", "namespace", namespace, "queue", s.Queue, "id", s.ID)
			continue
		}
		keys = append(keys, key)
	}
	return keys
}

// LoopbackOpen reports whether tasks may call loopback: as long as whoever can
// create them could do that without us.
func (n *Node) LoopbackOpen() bool { return n.cfg.Private && !n.Store.Settings().Secured() }
