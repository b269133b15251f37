package redisstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/redisstore/identity"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

//go:embed scripts/*.lua
var sources embed.FS

// The scripts of settings, each with the name of its file.
var (
	configure    = redisconn.NewScript(sources, redisconn.Writes, "configure")
	readSettings = redisconn.NewScript(sources, redisconn.Reads, "settings")
	fence        = redisconn.NewScript(sources, redisconn.Writes, "fence")
)

// configuration is a version of the settings as this node knows it.
type configuration struct {
	version  string
	settings *settings.Settings
	passed   fences // the fences that these settings have passed
}

// Configure implements store.SettingsStore.
func (s *Store) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	return store.Call(ctx, &s.calls, func() ([]settings.EditReply, error) {
		return kernel.Configure(edits, func(e settings.Edit) (reply settings.EditReply, err error) {
			switch e := e.(type) {
			case settings.Note:
				if len(e) > 0 {
					_, err = s.configure(ctx, s.configureRun("", e))
				}
				return reply, err
			case settings.DropNamespace:
				return s.dropNamespace(ctx, now, e)
			}
			return s.edit(ctx, now, e)
		}, func(accepted []settings.Edit) ([]string, error) { return s.awaitNodes(ctx, accepted) })
	})
}

// edit applies one edit that needs only the server of the settings.
func (s *Store) edit(ctx context.Context, now task.Millis, e settings.Edit) (settings.EditReply, error) {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	return s.editLocked(ctx, now, e)
}

// maxEdits bounds how often an edit is applied. In each round at least one of the
// nodes that edit succeeds.
const maxEdits = 256

func (s *Store) editLocked(ctx context.Context, now task.Millis, e settings.Edit) (settings.EditReply, error) {
	for range maxEdits {
		have := s.settings.Load()
		changes, refusal := e.Apply(now, have.settings)
		if refusal != nil || len(changes) == 0 {
			// The settings that led to the refusal may be outdated.
			if changed, err := s.reloadLocked(ctx); err != nil || !changed {
				return settings.EditReply{Err: refusal}, err
			}
			continue
		}
		one, err := s.editRun(now, settings.ActorOf(ctx), e, have.version, changes)
		if err != nil {
			return settings.EditReply{}, err
		}
		version, err := s.configure(ctx, one)
		if err != nil {
			return settings.EditReply{}, err
		}
		if version == one.Args[1] {
			s.adoptLocked(&configuration{version, have.settings.With(changes...), have.passed})
			return settings.EditReply{Changes: changes}, nil
		}
		if _, err := s.reloadLocked(ctx); err != nil {
			return settings.EditReply{}, err
		}
	}
	return settings.EditReply{}, fmt.Errorf("%s: other nodes changed the settings at the same time in each of %d attempts: repeat the request", e.Action(), maxEdits)
}

func (s *Store) editRun(now task.Millis, who settings.Actor, e settings.Edit, version string, changes []settings.SettingChange) (redisconn.Run, error) {
	var entries []settings.AuditEntry
	if entry, ok := settings.AuditEdit(now, who, e, changes); ok {
		entries = append(entries, entry)
	}
	one := s.configureRun(version, entries)
	for _, change := range changes {
		value := ""
		if change.Value != nil {
			data, err := settings.EncodeSetting(change.Value)
			if err != nil {
				return redisconn.Run{}, err
			}
			value = string(data)
		}
		one.Args = append(one.Args, change.Key.Field(), value)
	}
	return one, nil
}

// configureRun returns the run of configure that writes entries, to which the caller
// adds settings.
func (s *Store) configureRun(version string, entries []settings.AuditEntry) redisconn.Run {
	k := s.servers.Keys
	args := []string{version, versionAfter(version), strconv.Itoa(len(entries)), strconv.Itoa(settings.MaxAuditEntries), s.servers.Identity, s.servers.Counters.Field}
	for i := range entries {
		args = append(args, string(codec.EncodeAuditEntry(&entries[i])))
	}
	return redisconn.Run{Keys: []string{k.Settings, k.SettingsLog, k.SettingsID, k.Edits}, Args: args}
}

// configure runs the script configure, and returns the version of the settings
// after it.
func (s *Store) configure(ctx context.Context, one redisconn.Run) (version string, err error) {
	key, counters := s.servers.Keys.SettingsID, s.servers.Counters
	base := counters.Base(key)
	replies, err := s.servers.Write(ctx, configure, []*keyspace.Shard{nil}, []redisconn.Run{one})
	if err != nil {
		return "", err
	}
	r := replies[0]
	if len(r) != 3 {
		return "", codec.ErrDamaged
	}
	version, err1 := r[0].ToString()
	found, err2 := r[1].AsInt64()
	left, err3 := r[2].AsInt64()
	if err := errors.Join(err1, err2, err3); err != nil {
		return "", err
	}
	counters.See(key, base, found, left-found)
	return version, nil
}

// versionAfter returns the version of settings that follow a version: a larger text,
// which no other edit has.
func versionAfter(version string) string {
	number, _, _ := strings.Cut(version, "-")
	n, _ := strconv.ParseUint(number, 16, 64) // there is none before the first edit
	return fmt.Sprintf("%016x-", n+1) + newToken()
}

func newToken() string { return fmt.Sprintf("%x", records.NewStamp()) }

// reloadLocked reads the settings if their version has changed, and reports
// whether it had. It does not adopt settings of another store or settings that
// were lost. Errors: task.ErrStoreReplaced, task.ErrSettingsLost.
func (s *Store) reloadLocked(ctx context.Context) (bool, error) {
	have := s.settings.Load()
	replies, err := redisconn.ReadRuns(ctx, s.servers, rueidis.RedisResult.AsStrSlice, readSettings, redisconn.Run{Keys: []string{s.servers.Keys.Settings, s.servers.Keys.SettingsID}, Args: []string{have.version}})
	if err != nil {
		return false, err
	}
	switch texts := replies[0]; {
	case len(texts) < 3:
		return false, codec.ErrDamaged
	case texts[0] != s.servers.Identity:
		return false, &redisconn.Loss{Kind: task.ErrStoreReplaced, Found: identity.Hash{Name: "the settings", Key: s.servers.Keys.SettingsID}.Differs(texts[0])}
	case texts[1] != "" && texts[2] == "":
		return false, &redisconn.Loss{Kind: task.ErrSettingsLost, Found: "the key " + s.servers.Keys.Settings + " is gone"}
	case texts[2] == have.version:
		return false, nil
	}
	texts, records := replies[0], []settings.Setting{}
	for i := 3; i+1 < len(texts); i += 2 {
		if texts[i] == keyspace.VersionField {
			continue
		}
		r, err := settings.ParseSetting(texts[i], []byte(texts[i+1]))
		if err != nil {
			return false, fmt.Errorf("setting %q: %w: %w", texts[i], codec.ErrDamaged, err)
		}
		records = append(records, r)
	}
	next := &configuration{texts[2], settings.NewSettings(records...), have.passed}
	if have.settings.Secured() && !next.settings.Secured() {
		return false, &redisconn.Loss{Kind: task.ErrSettingsLost, Found: "the key " + s.servers.Keys.Settings + " has no access tokens any more"}
	}
	s.adoptLocked(next)
	return true, nil
}

// adoptLocked publishes new settings and calls the watcher, and the next heartbeat,
// which follows at once, confirms them.
func (s *Store) adoptLocked(c *configuration) {
	s.settings.Store(c)
	s.Watchers.Settings(c.settings)
	s.applied.Store(&c.version)
	s.member.WakeLoop()
}

// Counts implements store.SettingsStore, and reads the counts of every shard, with
// one round trip to each server.
func (s *Store) Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
	return store.Call(ctx, &s.calls, func() (map[task.QueueKey]task.Counts, error) { return s.readCounts(ctx) })
}

func (s *Store) readCounts(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
	return s.countShards(ctx, s.shards)
}

// countLimited counts the records in shards by the namespaces that have quotas.
func (s *Store) countLimited(ctx context.Context, shards []int) (map[string]task.Counts, error) {
	return s.quotas.Count(ctx, func(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
		read := make([]*keyspace.Shard, len(shards))
		for i, n := range shards {
			read[i] = s.shards[n]
		}
		return s.countShards(ctx, read)
	})
}

func (s *Store) countShards(ctx context.Context, shards []*keyspace.Shard) (map[task.QueueKey]task.Counts, error) {
	counts := map[task.QueueKey]task.Counts{}
	all, err := redisconn.Read(ctx, s.servers, rueidis.RedisResult.AsIntMap, redisconn.EachOf(shards, func(b rueidis.Builder, sh *keyspace.Shard) rueidis.Completed {
		return b.Hgetall().Key(sh.Counts).Build()
	})...)
	if err != nil {
		return nil, err
	}
	for _, fields := range all {
		for field, n := range fields {
			if err := records.AddCount(counts, field, n); err != nil {
				return nil, err
			}
		}
	}
	for key, c := range counts {
		if c.Total() == 0 || key.OfOccurrences() {
			delete(counts, key)
		}
	}
	return counts, nil
}
