package storetest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// edit returns an edit of a setting: of a queue, mostly.
func (g *generator) edit() settings.Edit {
	namespace, name := g.oneOf(universe.namespaces), g.oneOf(universe.queues)
	key := settings.SettingKey{Kind: settings.QueueKind, Namespace: namespace, Name: name}
	switch n := g.IntN(20); {
	case n < 7:
		return settings.PutQueue{Queue: g.queueSettings(namespace, name), If: g.tag(key)}
	case n < 8:
		return settings.DropQueue{Namespace: namespace, Name: name}
	case n < 9:
		return settings.PauseQueue{Namespace: namespace, Name: name, Paused: g.IntN(2) == 0, Until: g.now + 500, If: g.tag(key)}
	case n < 10:
		return settings.PurgeQueue{Namespace: namespace, Name: name, If: g.tag(key)}
	case n < 11:
		q := settings.NewSettings(g.Settings...).Queue(namespace, name)
		return settings.EndPurge{Namespace: namespace, Name: name, Before: q.PurgeBefore - task.Millis(g.IntN(2))}
	case n < 15:
		return settings.PutNamespace{Settings: settings.NamespaceSettings{Name: namespace, MaxPending: int64(g.IntN(5)), MaxBytes: int64(g.IntN(3) * 20_000), Suspended: g.IntN(6) == 0}}
	case n < 16:
		return settings.DropNamespace{Name: namespace, If: g.tag(key)}
	case n < 17:
		return settings.Note{{At: g.now, Namespace: namespace, By: g.oneOf(universe.actors), Action: settings.ActionBackup}, {At: g.now, Action: settings.ActionTokenRefused, Detail: "3 times"}}
	}
	return g.credential(namespace)
}

func (g *generator) queueSettings(namespace, name string) settings.QueueSettings {
	q := settings.QueueSettings{Namespace: namespace, Name: name, Rate: float64(g.IntN(3)), Concurrency: g.IntN(3) - 1}
	q.KeepFinished = g.duration(0, time.Second, 90*time.Second)
	q.KeepDead = g.duration(0, time.Second, 90*time.Second)
	q.KeepBodies = g.IntN(2) == 0
	return q
}

// tag returns a precondition: none, the present version, or a wrong one.
func (g *generator) tag(key settings.SettingKey) task.Precondition {
	switch g.IntN(6) {
	case 0:
		return task.Precondition{IfNoneMatch: true}
	case 1:
		return task.Precondition{IfMatch: []string{"1.1"}}
	case 2:
		if q, ok := settings.NewSettings(g.Settings...).Get(key).(*settings.QueueSettings); ok {
			return task.Precondition{IfMatch: []string{q.ETag()}}
		}
	}
	return task.Precondition{}
}

// credential returns an edit of a token or a secret, mostly of an existing one.
func (g *generator) credential(namespace string) settings.Edit {
	var tokens []*settings.AccessToken
	var secrets []*settings.SigningSecret
	for _, r := range g.Settings {
		switch r := r.(type) {
		case *settings.AccessToken:
			tokens = append(tokens, r)
		case *settings.SigningSecret:
			secrets = append(secrets, r)
		}
	}
	n := g.IntN(6)
	switch {
	case n == 0 && len(tokens) > 0:
		t := tokens[g.IntN(len(tokens))]
		return settings.RevokeToken{Namespace: t.Namespace, ID: t.ID, Force: g.IntN(2) == 0}
	case n == 1 && len(tokens) > 0:
		t := tokens[g.IntN(len(tokens))]
		return settings.UseToken{Namespace: t.Namespace, ID: t.ID, At: g.now}
	case n == 2 && len(secrets) > 0:
		s := secrets[g.IntN(len(secrets))]
		return settings.DropSecret{Namespace: s.Namespace, Queue: s.Queue, ID: s.ID}
	case n == 3:
		return settings.AddSecret{Namespace: namespace, Queue: g.oneOf(append(universe.queues, "")), ID: g.next("s"), Secret: g.next("whsec_"), Overlap: task.Millis(g.IntN(2) * 1000)}
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(g.next("token"))))
	return settings.AddToken{Namespace: g.oneOf(append(universe.namespaces, settings.AllNamespaces)), Scope: settings.Scope(g.IntN(4)), Hash: hash, ExpiresAt: g.now + task.Millis(g.IntN(900)-100)}
}
