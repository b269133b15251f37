package api

import (
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
)

var (
	fillQueue     = showing[wire.Queue, settings.QueueSettings]("Paused", "PausedUntil")
	fillNamespace = showing[wire.Namespace, settings.NamespaceSettings]()
	fillToken     = showing[wire.Token, settings.AccessToken]()
)

// showQueue returns a queue in the form that the API shows now.
func showQueue(q *settings.QueueSettings, name string, counts task.Counts, now task.Millis) (shown wire.Queue) {
	fillQueue(&shown, q)
	shown.Name, shown.Counts = name, showCounts(counts)
	shown.Paused, shown.Purging = q.PausedAt(now), q.PurgeBefore != 0
	if shown.Paused {
		shown.PausedUntil = showOptional(q.PausedUntil)
	}
	return shown
}

func showNamespace(n *settings.NamespaceSettings, has holdings) (shown wire.Namespace) {
	fillNamespace(&shown, n)
	shown.Counts, shown.Schedules = showCounts(has.Counts), has.schedules
	return shown
}

func showCounts(c task.Counts) wire.Counts {
	n := &c.States
	return wire.Counts{
		Scheduled: n[task.Scheduled], Running: n[task.Running], Delivered: n[task.Delivered],
		Cancelled: n[task.Cancelled], Expired: n[task.Expired], Dead: n[task.Dead], Bytes: c.Bytes,
	}
}

func showToken(t *settings.AccessToken, now task.Millis) (shown wire.Token) {
	fillToken(&shown, t)
	shown.State = "active"
	switch {
	case t.RevokedAt != 0:
		shown.State = "revoked"
	case !t.Holds(now):
		shown.State = "expired"
	}
	return shown
}

func showSecret(secret *settings.SigningSecret) wire.Secret {
	return wire.Secret{ID: secret.ID, Queue: secret.Queue, NamespaceSignsUntil: showOptional(secret.BesideUntil), CreatedAt: showTime(secret.CreatedAt), ExpiresAt: showOptional(secret.ExpiresAt)}
}

func showDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return timespan.Text(d)
}
