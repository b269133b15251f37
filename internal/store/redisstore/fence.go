package redisstore

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// A purge spares the tasks that come into its queue later, and which are later is
// decided by the order of changes on the servers, not by a clock. The settings of
// another node may be older than the purge for a moment, and its creates would lack the
// purge's mark (task.Settings.Spare). So each purge raises a fence, before its reply:
//
//  1. the settings with the purge are written,
//  2. the fence, a token that is used once, is written beside each shard's ownership,
//  3. put compares the token with the one the caller knows, in the run that writes.
//     A caller that is refused reads the token, then the settings, which are no older
//     than the token, and applies its changes again (passFences).
//
// So after the reply to a purge no server accepts a change from settings without it. The
// removal of a namespace raises the fence, too (removal.go).

// fenceTokens are the tokens by slot. Once they are published they are never written to.
type fenceTokens map[uint16]string

// fences are the fences that this node's settings have passed.
type fences struct {
	tokens atomic.Pointer[fenceTokens] // written under mu, read without it: one word
	mu     sync.Mutex
}

// known returns the tokens of the fences that the settings, if they are read after this call, have passed.
func (f *fences) known() fenceTokens {
	if tokens := f.tokens.Load(); tokens != nil {
		return *tokens
	}
	return nil
}

// pass notes tokens that the settings have passed.
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

// bySlot returns the ownership keys of all shards, by slot, and one shard of each slot.
func (s *Store) bySlot() (keys map[uint16][]string, one map[uint16]*shard) {
	keys, one = map[uint16][]string{}, map[uint16]*shard{}
	for _, sh := range s.shards {
		slot := s.servers.slot(sh)
		keys[slot], one[slot] = append(keys[slot], sh.own), sh
	}
	return keys, one
}

// raiseFences makes all servers refuse what comes from settings that are older than this
// node's. The settings are written already.
func (s *Store) raiseFences(ctx context.Context) error {
	token, tokens := newVersion(), fenceTokens{}
	var runs []run
	var shards []*shard
	keys, one := s.bySlot()
	for slot := range keys {
		runs, shards = append(runs, run{keys[slot], []string{token, s.servers.identity}}), append(shards, one[slot])
		tokens[slot] = token
	}
	if _, err := s.servers.write(ctx, fence, shards, runs); err != nil {
		return fmt.Errorf("raise the fence of every shard: %w", err)
	}
	s.fences.pass(tokens)
	return nil
}

// passFences reads the settings again if items were refused because ours lack a purge.
func (s *Store) passFences(ctx context.Context, outcomes []outcome, items []item) error {
	behind := map[uint16]*shard{}
	for i, o := range outcomes {
		if o.fate == outdated {
			behind[s.servers.slot(items[i].shard)] = items[i].shard
		}
	}
	if len(behind) == 0 {
		return nil
	}
	var slots []uint16
	var commands []command
	for slot, sh := range behind {
		slots = append(slots, slot)
		commands = append(commands, func(b rueidis.Builder) rueidis.Completed { return b.Hget().Key(sh.own).Field("purge").Build() })
	}
	results, err := s.servers.ask(ctx, commands...)
	if err != nil {
		return err
	}
	tokens := fenceTokens{}
	for i, r := range results {
		if tokens[slots[i]], err = r.ToString(); err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
	}
	s.configuring.Lock()
	defer s.configuring.Unlock()
	if s.fences.passed(tokens) { // by another round, while this one waited
		return nil
	}
	if _, err := s.reloadLocked(ctx); err != nil {
		return err
	}
	s.fences.pass(tokens)
	return nil
}
