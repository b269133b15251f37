package redisstore

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// A purge must spare tasks that are added to its queue later. "Later" means the
// order of writes on the server: no clock is used. For a moment another node
// may still use settings from before the purge. The tasks that it creates would
// not be marked as spared (settings.Settings.Spare). So each purge raises a
// fence before its reply:
//
//  1. The settings with the purge are written.
//  2. The fence, a token that is used once, is written next to each shard's
//     ownership.
//  3. put compares the token with the one that the caller knows, in the run
//     that writes. A refused caller reads the token first and then the
//     settings, so the settings include that purge. After that it applies its
//     changes again (passFences).
//
// So after the reply to a purge no server accepts a change from settings that
// lack this purge. The removal of a namespace raises the fence too
// (removal.go).
//
// Settings have passed a fence when they were read after its token was read.
// The node that raises a fence must pass it too, like every other node: its own
// settings can lack an earlier purge by another node.
//
// Nothing is locked while a fence is raised. A server that hangs delays the
// purge or the removal, but no change on another server and no other edit.

// fenceTokens maps slots to tokens. A published map is never changed.
type fenceTokens map[uint16]string

// fences holds the fences that this node's settings have passed.
type fences struct {
	tokens atomic.Pointer[fenceTokens] // written under mu, read without it
	mu     sync.Mutex

	begun atomic.Uint64 // reads of the settings by passFences; written under Store.configuring
	read  uint64        // the newest of these reads that succeeded; guarded by Store.configuring
}

// known returns the tokens of the fences that the settings have passed. The
// caller must read the settings after this call.
func (f *fences) known() fenceTokens {
	if tokens := f.tokens.Load(); tokens != nil {
		return *tokens
	}
	return nil
}

// pass records tokens that the settings have passed.
func (f *fences) pass(tokens fenceTokens) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := fenceTokens{}
	maps.Copy(next, f.known())
	maps.Copy(next, tokens)
	f.tokens.Store(&next)
}

// passed reports whether the settings have passed all these fences.
func (f *fences) passed(tokens fenceTokens) bool {
	known := f.known()
	for slot, token := range tokens {
		if have, ok := known[slot]; !ok || have != token {
			return false
		}
	}
	return true
}

// bySlot returns the ownership keys of all shards, by slot, and one shard of
// each slot.
func (s *Store) bySlot() (keys map[uint16][]string, one map[uint16]*keyspace.Shard) {
	keys, one = map[uint16][]string{}, map[uint16]*keyspace.Shard{}
	for _, sh := range s.shards {
		slot := s.servers.Slot(sh)
		keys[slot], one[slot] = append(keys[slot], sh.Own), sh
	}
	return keys, one
}

// raiseFences makes all servers refuse changes from settings that are older
// than this node's. The new settings must be written before. It must be called
// without locks, because it waits for every server.
func (s *Store) raiseFences(ctx context.Context) error {
	var runs []redisconn.Run
	var shards []*keyspace.Shard
	token := newToken()
	keys, one := s.bySlot()
	for slot := range keys {
		runs, shards = append(runs, redisconn.Run{Keys: keys[slot], Args: []string{token, s.servers.Identity}}), append(shards, one[slot])
	}
	if _, err := s.servers.Write(ctx, fence, shards, runs); err != nil {
		return fmt.Errorf("raise the fence of every shard: %w", err)
	}
	return nil
}

// passFences reads the settings again if items were refused because this node's
// settings lack a purge.
func (s *Store) passFences(ctx context.Context, outcomes []redisconn.Outcome, items []redisconn.Item) error {
	behind := map[uint16]*keyspace.Shard{}
	for i, o := range outcomes {
		if o.Status == redisconn.StaleSettings {
			behind[s.servers.Slot(items[i].Shard)] = items[i].Shard
		}
	}
	if len(behind) == 0 {
		return nil
	}
	var slots []uint16
	var commands []redisconn.Command
	for slot, sh := range behind {
		slots = append(slots, slot)
		commands = append(commands, func(b rueidis.Builder) rueidis.Completed { return b.Hget().Key(sh.Own).Field("purge").Build() })
	}
	results, err := s.servers.Ask(ctx, commands...)
	if err != nil {
		return err
	}
	tokens := fenceTokens{}
	for i, r := range results {
		if tokens[slots[i]], err = r.ToString(); err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
	}
	return s.catchUp(ctx, tokens, s.fences.begun.Load())
}

// catchUp makes the settings at least as new as tokens. begun is the number of
// reads of the settings that had begun when the tokens were read. If several
// rounds wait, one read of the settings is enough for all of them.
func (s *Store) catchUp(ctx context.Context, tokens fenceTokens, begun uint64) error {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	f := &s.fences
	if f.passed(tokens) { // another round read them while this one waited
		return nil
	}
	if f.read <= begun {
		read := f.begun.Add(1)
		if _, err := s.reloadLocked(ctx); err != nil {
			return err
		}
		f.read = read
	}
	f.pass(tokens)
	return nil
}
