package api

import (
	"github.com/foliot/foliot/internal/settings"
)

// decodeQueue reads the settings of a queue. Absent fields leave q
// and owner unchanged.
func (r *reader) decodeQueue(q *settings.QueueSettings, owner *settings.Owner) error {
	return r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			err = r.sameName(q.Name)
		case "rate":
			q.Rate, err = bound(r, r.Float, pauseIt)
		case "burst":
			q.Burst, err = r.Integer()
		case "concurrency":
			q.Concurrency, err = bound(r, r.Integer, pauseIt)
		case "per_destination":
			q.PerDestination, err = bound(r, r.Integer, pauseIt)
		case "retry":
			err = r.decodeDefaults(&q.Retry)
		case "timeout":
			q.Timeout, err = r.duration()
		case "expire_after":
			q.ExpireAfter, err = r.duration()
		case "on_dead":
			q.OnDead, err = r.Text()
		case "keep_finished":
			q.KeepFinished, err = r.duration()
		case "keep_dead":
			q.KeepDead, err = r.duration()
		case "keep_bodies":
			q.KeepBodies, err = r.Bool()
		case "managed_by":
			*owner, err = r.owner()
		case "paused", "paused_until", "purging", "version", "created_at", "counts":
			err = refuse("unknown_field", "", "read-only field: leave it out; pause, resume and purge have routes of their own")
		default:
			err = noSuchField(key, queueFields)
		}
		return err
	})
}

// owner reads the owner of a setting. An empty text removes it.
func (r *reader) owner() (settings.Owner, error) {
	name, err := r.Text()
	return settings.Owner{Name: name, Set: true}, err
}

const pauseIt = "to stop the queue, pause it"

func (r *reader) decodeDefaults(d *settings.RetryDefaults) error {
	return r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "max_attempts":
			d.MaxAttempts, err = pointed(r.Integer())
		case "min_backoff":
			d.MinBackoff, err = pointed(r.duration())
		case "max_backoff":
			d.MaxBackoff, err = pointed(r.duration())
		case "max_age":
			d.MaxAge, err = pointed(r.duration())
		default:
			err = noSuchField(key, retryFields)
		}
		return err
	})
}

func pointed[T any](v T, err error) (*T, error) { return &v, err }

// decodePause reads the end of a pause.
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
