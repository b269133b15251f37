package storetest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// universePurges are the IDs of purges; "" is a purge that an older version
// began.
var universePurges = []string{"", "purge-1", "purge-2"}

// edit returns an edit of a setting: of a queue, mostly.
func (g *generator) edit() task.Edit {
	namespace, name := g.oneOf(universe.namespaces), g.oneOf(universe.queues)
	key := task.SettingKey{Kind: task.QueueKind, Namespace: namespace, Name: name}
	switch n := g.IntN(20); {
	case n < 7:
		return task.PutQueue{Queue: g.queueSettings(namespace, name), If: g.tag(key)}
	case n < 8:
		return task.DropQueue{Namespace: namespace, Name: name}
	case n < 9:
		return task.PauseQueue{Namespace: namespace, Name: name, Paused: g.IntN(2) == 0, Until: g.now + 500, If: g.tag(key)}
	case n < 10:
		return task.PurgeQueue{Namespace: namespace, Name: name, ID: g.oneOf(universePurges), If: g.tag(key)}
	case n < 11:
		q := task.NewSettings(g.Settings...).Queue(namespace, name)
		return task.EndPurge{Namespace: namespace, Name: name, Before: q.PurgeBefore, ID: g.oneOf(universePurges)}
	case n < 15:
		return task.PutNamespace{Settings: task.NamespaceSettings{Name: namespace, MaxPending: int64(g.IntN(5)), MaxBytes: int64(g.IntN(3) * 20_000), Suspended: g.IntN(6) == 0}}
	case n < 16:
		return task.DropNamespace{Name: namespace}
	}
	return g.credential(namespace)
}

func (g *generator) queueSettings(namespace, name string) task.QueueSettings {
	q := task.QueueSettings{Namespace: namespace, Name: name, Rate: float64(g.IntN(3)), Concurrency: g.IntN(3) - 1}
	q.KeepFinished = g.duration(0, time.Second, 90*time.Second)
	q.KeepDead = g.duration(0, time.Second, 90*time.Second)
	q.KeepBodies = g.IntN(2) == 0
	return q
}

// tag returns a precondition: none, the present version, or a wrong one.
func (g *generator) tag(key task.SettingKey) task.Precondition {
	switch g.IntN(6) {
	case 0:
		return task.Precondition{IfNoneMatch: true}
	case 1:
		return task.Precondition{IfMatch: []string{"1.1"}}
	case 2:
		if q, ok := task.NewSettings(g.Settings...).Get(key).(*task.QueueSettings); ok {
			return task.Precondition{IfMatch: []string{q.ETag()}}
		}
	}
	return task.Precondition{}
}

// credential returns an edit of a token or a secret, mostly of an existing one.
func (g *generator) credential(namespace string) task.Edit {
	var tokens []*task.AccessToken
	var secrets []*task.SigningSecret
	for _, r := range g.Settings {
		switch r := r.(type) {
		case *task.AccessToken:
			tokens = append(tokens, r)
		case *task.SigningSecret:
			secrets = append(secrets, r)
		}
	}
	n := g.IntN(6)
	switch {
	case n == 0 && len(tokens) > 0:
		t := tokens[g.IntN(len(tokens))]
		return task.RevokeToken{Namespace: t.Namespace, ID: t.ID, Force: g.IntN(2) == 0}
	case n == 1 && len(tokens) > 0:
		t := tokens[g.IntN(len(tokens))]
		return task.UseToken{Namespace: t.Namespace, ID: t.ID, At: g.now}
	case n == 2 && len(secrets) > 0:
		s := secrets[g.IntN(len(secrets))]
		return task.DropSecret{Namespace: s.Namespace, Queue: s.Queue, ID: s.ID}
	case n == 3:
		return task.AddSecret{Namespace: namespace, Queue: g.oneOf(append(universe.queues, "")), ID: g.next("s"), Secret: g.next("whsec_"), Overlap: task.Millis(g.IntN(2) * 1000)}
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(g.next("token"))))
	return task.AddToken{Namespace: g.oneOf(append(universe.namespaces, task.AllNamespaces)), Scope: task.Scope(g.IntN(4)), Hash: hash, ExpiresAt: g.now + task.Millis(g.IntN(900)-100)}
}
