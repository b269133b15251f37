package redisstore

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// For a moment after an edit, another node may still use settings from before it. A
// fence ends that moment. It is raised before a namespace is removed (removal.go), and
// before the reply to an edit that stops something (edits.go), after the settings were
// written. It is a token that is used once, next to each shard's ownership. put
// compares it with the one that the caller knows. A refused caller gets the token,
// reads the settings, which include that edit, and applies its changes again
// (passFences). The order of writes on the server decides, and no clock.
//
// Settings have passed a fence when they were read after its token was read. The node
// that raises a fence must pass it too, because its settings can lack an earlier edit
// by another node. Nothing is locked while a fence is raised.

// fences maps slots to the tokens of fences, and is never changed.
type fences map[uint16]string

// raiseFences makes all servers refuse changes from settings that are older than this
// node's. It must be called after the new settings were written, and without locks,
// because it waits for every server.
func (s *Store) raiseFences(ctx context.Context) error {
	keys, one := map[uint16][]string{}, map[uint16]*keyspace.Shard{}
	for _, sh := range s.shards {
		slot := s.servers.Slot(sh)
		keys[slot], one[slot] = append(keys[slot], sh.Own), sh
	}
	var runs []redisconn.Run
	var shards []*keyspace.Shard
	token := newToken()
	for slot := range keys {
		runs, shards = append(runs, redisconn.Run{Keys: keys[slot], Args: []string{token, s.servers.Identity}}), append(shards, one[slot])
	}
	if _, err := s.servers.Write(ctx, fence, shards, runs); err != nil {
		return fmt.Errorf("raise the fence of every shard: %w", err)
	}
	return nil
}

// passFences reads the settings again if puts were refused because this node's
// settings lack an edit, where repliedAt is when the puts had replied. If several
// rounds wait, one read of the settings is enough for all of them.
func (s *Store) passFences(ctx context.Context, outcomes []redisconn.Outcome, items []redisconn.Item, repliedAt time.Time) error {
	tokens := fences{}
	for i, o := range outcomes {
		if o.Status == redisconn.StaleSettings {
			tokens[s.servers.Slot(items[i].Shard)] = o.Value
		}
	}
	if len(tokens) == 0 {
		return nil
	}
	s.configuring.Lock()
	defer s.configuring.Unlock()
	if began := time.Now(); !s.caughtUp.After(repliedAt) {
		if _, err := s.reloadLocked(ctx); err != nil {
			return err
		}
		s.caughtUp = began
	}
	next := *s.settings.Load()
	next.passed = fences{}
	maps.Copy(next.passed, s.settings.Load().passed)
	maps.Copy(next.passed, tokens)
	s.settings.Store(&next)
	return nil
}
