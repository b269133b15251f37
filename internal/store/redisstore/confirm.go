package redisstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// For a moment after an edit, other nodes still use the settings before it. The
// reply to the edit waits until that is over:
//
//  1. configure publishes a message, so other nodes read the settings at once
//     (followSettings). If it is lost, their poll reads them.
//  2. A node that has applied a version records that (confirm.lua). Its watcher
//     has returned, so its dispatcher begins nothing that the settings hold, not
//     even a task that it claimed before.
//  3. Confirm compares these records with the heartbeats of the live nodes.
//  4. Confirm also raises a fence (fence.go), so a node that has not confirmed,
//     or is not live, claims nothing before it has read the settings.
//     A Redis server that is away gets no fence, which is logged: no node can
//     claim a task there.
//
// The records are on the master of the settings, so a failover that loses an
// edit also loses its confirmations.

// Confirm waits at most confirmFor. The time between its reads doubles from
// firstLook to lastLook.
const (
	confirmFor = 2 * time.Second
	firstLook  = 2 * time.Millisecond
	lastLook   = 50 * time.Millisecond
)

// Confirm implements store.Cluster.
func (s *Store) Confirm(ctx context.Context, e settings.Edit) (left []string, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if s.config.Alone {
		return nil, nil
	}
	ctx, stop := context.WithTimeout(ctx, confirmFor)
	defer stop()
	var fencing sync.WaitGroup
	defer fencing.Wait()
	switch e.(type) {
	case settings.AddToken, settings.AddSecret:
		return nil, nil // nothing is stopped
	case settings.RevokeToken, settings.DropSecret: // no task is stopped
	default:
		fencing.Go(func() { s.servers.Failures.Note("refuse claims by older settings", s.raiseFences(ctx)) })
	}
	version := s.settings.Load().version
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		found, err := s.behind(ctx, version)
		if err == nil {
			left = found
		} else if left == nil {
			return nil, s.failure(err)
		}
		if len(left) == 0 || !s.servers.Pause(ctx, wait) {
			return left, nil
		}
	}
}

// behind returns the names of the other live nodes that have not confirmed
// version or a later one. It removes what processes that are gone confirmed.
func (s *Store) behind(ctx context.Context, version string) (names []string, err error) {
	nodes, err := s.own.Processes(ctx)
	if err != nil {
		return nil, err
	}
	key := s.servers.Keys.Confirmed
	reply, err := s.servers.One(ctx, func(b rueidis.Builder) rueidis.Completed { return b.Hgetall().Key(key).Build() })
	if err != nil {
		return nil, err
	}
	confirmed, err := reply.AsStrMap()
	if err != nil {
		return nil, err
	}
	for process, name := range nodes {
		if name != "" && process != s.own.Process && confirmed[process] < version {
			names = append(names, name)
		}
	}
	var gone []string
	for process := range confirmed {
		if _, known := nodes[process]; !known {
			gone = append(gone, process)
		}
	}
	if len(gone) > 0 {
		_, err = s.servers.One(ctx, func(b rueidis.Builder) rueidis.Completed { return b.Hdel().Key(key).Field(gone...).Build() })
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// confirmLocked records that this node has applied its settings, unless Redis
// has that record.
func (s *Store) confirmLocked(ctx context.Context) error {
	version := s.settings.Load().version
	if version == s.confirmed || !s.joined.Load() {
		return nil
	}
	k := s.servers.Keys
	_, err := s.servers.Repeat(ctx, confirm, redisconn.Run{
		Keys: []string{k.Settings, k.SettingsID, k.Confirmed}, Args: []string{version, s.own.Process, s.servers.Identity},
	})
	return err
}

// listenForEdits makes followSettings read the settings after each edit, until
// ctx ends.
func (s *Store) listenForEdits(ctx context.Context) {
	s.own.Listen(ctx, s.servers.Keys.Edits, func(string) {
		select {
		case s.edited <- struct{}{}:
		default:
		}
	})
}

// followSettings reads and confirms the settings after each message, until ctx
// ends. The poll repeats a read that failed, and reports the failure.
func (s *Store) followSettings(ctx context.Context) {
	for {
		_ = s.reload(ctx)
		select {
		case <-s.edited:
		case <-ctx.Done():
			return
		}
	}
}
