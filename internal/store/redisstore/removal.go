package redisstore

import (
	"context"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// A namespace is removed in steps, because its records and the settings lie in
// different slots:
//
//	marked   the namespace's record gets a mark (settings.CloseNamespace)
//	fenced   every shard gets a new fence (fence.go). After that, put accepts
//	         changes only from nodes that know the mark
//	counted  the namespace's records are counted in each shard
//	removed  if there are none, and the namespace still has the same mark
//
// A node that creates a task in a marked namespace removes the mark first (unmark),
// which makes the last step fail. So a concurrent create is counted, or makes the
// removal fail, or fails because the namespace is gone. A node that dies between two
// steps leaves a mark that refuses nothing.

// dropNamespace removes a namespace. Removals wait for each other, because each
// needs every server, but no other call waits for them.
func (s *Store) dropNamespace(ctx context.Context, now task.Millis, drop settings.DropNamespace) (settings.EditReply, error) {
	s.removing.Lock()
	defer s.removing.Unlock()
	if err := s.count(ctx, &drop); err != nil {
		return settings.EditReply{}, err
	}
	if drop.Tasks+drop.Schedules > 0 {
		return s.edit(ctx, now, drop) // this returns the refusal
	}
	drop.Closing = newToken()
	reply, err := s.edit(ctx, now, settings.CloseNamespace{Name: drop.Name, Mark: drop.Closing})
	if err != nil || reply.Err != nil {
		return reply, err
	}
	if err := s.raiseFences(ctx); err != nil {
		return settings.EditReply{}, err
	}
	if err := s.count(ctx, &drop); err != nil {
		return settings.EditReply{}, err
	}
	reply, err = s.edit(ctx, now, drop)
	if err == nil && reply.Err != nil {
		_, err = s.edit(ctx, now, settings.CloseNamespace{Name: drop.Name})
	}
	return reply, err
}

func (s *Store) count(ctx context.Context, d *settings.DropNamespace) error {
	counts, err := s.readCounts(ctx)
	if err != nil {
		return err
	}
	d.Tasks, d.Schedules = 0, 0
	for key, c := range counts {
		if key.Namespace == d.Name {
			d.Count(key.Queue, c)
		}
	}
	return nil
}

// unmark removes the marks of namespaces in which steps may create tasks.
func (s *Store) unmark(ctx context.Context, now task.Millis, steps []*step) error {
	for _, st := range steps {
		if st.Kind != store.Change || st.Done || st.Old.Task != nil || !s.settings.Load().settings.Closing(st.Key.Namespace) {
			continue
		}
		if _, err := s.edit(ctx, now, settings.CloseNamespace{Name: st.Key.Namespace}); err != nil {
			return err
		}
	}
	return nil
}
