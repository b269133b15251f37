package pebblestore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

var (
	_ store.SettingsStore = (*Store)(nil)
	_ store.Scrubber      = (*Store)(nil)
)

// Configure implements store.SettingsStore.
func (s *Store) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	if len(edits) == 0 {
		return nil, ctx.Err()
	}
	r := &request{now: now, who: settings.ActorOf(ctx), edits: edits}
	if _, err := s.submit(ctx, r); err != nil {
		return nil, err
	}
	return r.edited, nil
}

// configure applies the edits of r. Each reply waits until the settings
// that the edit has seen are synced, even if the edit changed nothing.
func (c *committer) configure(r *request) error {
	r.wait = max(r.wait, c.edited)
	for _, e := range r.edits {
		if err := c.makeRoom(true); err != nil {
			return err
		}
		reply, err := c.edit(r, e)
		if err != nil {
			return err
		}
		r.edited = append(r.edited, reply)
		c.filling.steps++
	}
	return nil
}

// edit applies one edit. Its error is a failure of the medium, while that of
// the edit itself is in the reply.
func (c *committer) edit(r *request, e settings.Edit) (settings.EditReply, error) {
	if n, ok := e.(settings.Note); ok {
		return settings.EditReply{}, c.noteAll(r, n)
	}
	if d, ok := e.(settings.DropNamespace); ok {
		c.counters.count(&d)
		r.wait = max(r.wait, c.dirty()) // for the records that are counted
		e = d
	}
	changes, refusal := e.Apply(r.now, c.newest)
	if refusal != nil || len(changes) == 0 {
		return settings.EditReply{Err: refusal}, nil
	}
	b := c.open()
	for _, change := range changes {
		if err := putSetting(b, change); err != nil {
			return settings.EditReply{}, err
		}
	}
	c.newest = c.newest.With(changes...)
	c.edited = c.touch(r)
	c.filling.settings = c.newest
	if entry, ok := settings.AuditEdit(r.now, r.who, e, changes); ok {
		if err := c.record(&entry); err != nil {
			return settings.EditReply{}, err
		}
	}
	return settings.EditReply{Changes: changes}, nil
}

func putSetting(b *pebble.Batch, change settings.SettingChange) error {
	key := appendSettingKey(nil, change.Key)
	if change.Value == nil {
		return b.Delete(key, nil)
	}
	data, err := settings.EncodeSetting(change.Value)
	if err != nil {
		return err
	}
	return b.Set(key, append([]byte{codec.Format}, data...), nil)
}

func appendSettingKey(dst []byte, k settings.SettingKey) []byte {
	dst = append(append(dst, setPrefix...), byte(k.Kind))
	return appendName(dst, task.Key{Namespace: k.Namespace, Name: k.Name})
}

func loadSettings(from pebble.Reader) (*settings.Settings, error) {
	var all []settings.Setting
	err := eachIn(from, setPrefix, func(key, value []byte) error {
		r, err := parseSetting(key, value)
		if err != nil {
			return fmt.Errorf("setting %q: %w", key, err)
		}
		all = append(all, r)
		return nil
	})
	return settings.NewSettings(all...), err
}

func parseSetting(key, value []byte) (settings.Setting, error) {
	data, err := codec.Unwrap(value)
	if err != nil {
		return nil, err
	}
	if len(key) <= len(setPrefix) {
		return nil, errDamaged
	}
	r, err := settings.DecodeSetting(settings.SettingKind(key[len(setPrefix)]), data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if !bytes.Equal(key, appendSettingKey(nil, r.Key())) {
		return nil, fmt.Errorf("it is that of %+v: %w", r.Key(), errDamaged)
	}
	return r, nil
}
