package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/store/redisstore/registry"
	"github.com/foliot/foliot/internal/task"
)

// The audit log consists of streams. Each namespace has a stream in every
// shard, for entries of its tasks, and one stream for entries of its settings
// (SettingsPart). All nodes together have one stream. So a namespace can
// neither evict nor read entries of another namespace. The id of an entry is
// the server's clock in microseconds at the time of the write, so streams can
// be merged. Its Seq consists of that time and the number of the stream. The
// streams of the settings share a clock. The streams of a shard share the
// server's clock, so their Seqs differ unless that clock was set back.
const (
	seqEpoch  = 1_577_836_800_000_000 // 2020, in microseconds: 50 bits last until 2055
	seqStream = 13                    // bits of the stream's number: 4096 shards, and three
	maxSeq    = 1<<63 - 1
)

// Log is the audit log of one store.
type Log struct {
	config  Config
	servers *redisconn.Servers
	shards  []*keyspace.Shard
	own     *registry.Member
	heads   heads
}

// Config limits the audit log, and gives access to the settings.
type Config struct {
	// Keep is how long entries are kept. Length bounds the task entries, and
	// separately the settings entries, of a namespace. If either is negative,
	// there is no audit log.
	Keep   time.Duration
	Length int
	Logger *slog.Logger

	Settings func() *settings.Settings
	Counts   func(context.Context) (map[task.QueueKey]task.Counts, error)
	Record   func(context.Context, []settings.AuditEntry) error
}

// New returns the audit log of the store in servers.
func New(c Config, servers *redisconn.Servers, shards []*keyspace.Shard, own *registry.Member) *Log {
	return &Log{config: c, servers: servers, shards: shards, own: own}
}

// Kept reports whether there is an audit log.
func (l *Log) Kept() bool { return l.config.Keep >= 0 && l.config.Length >= 0 }

// length returns the largest number of entries in a part of the audit log:
// most, or Config.Length if that is less. Zero means that there is no log.
func (l *Log) length(most int) int {
	if !l.Kept() {
		return 0
	}
	return min(l.config.Length, most)
}

// SettingsLength returns the largest number of settings entries of a namespace.
// Zero means that there is no log.
func (l *Log) SettingsLength() int { return l.length(maxSettingsEntries) }

// seqOf returns the Seq of the entry id of a stream. If the server's clock was
// set back, the second half of an id counts entries of one instant. It is added
// to the microseconds, which changes the entry's time by only a few
// microseconds.
func seqOf(id string, stream int) (uint64, error) {
	micros, count, _ := strings.Cut(id, "-")
	m, err := strconv.ParseUint(micros, 10, 64)
	if err != nil || m < seqEpoch {
		return 0, fmt.Errorf("id %q of the audit log: %w", id, errDamaged)
	}
	n, err := strconv.ParseUint(count, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("id %q of the audit log: %w", id, errDamaged)
	}
	return (m+n-seqEpoch)<<seqStream | uint64(stream), nil
}

// Some streams have a bound of their own. Their keys have one of these suffixes
// after the namespace: one for refused tokens, and one for the records of
// entries that sweeps removed. So guessed tokens evict no other entries, and
// endless changes of tasks do not evict the entries of admins. No namespace has
// a slash.
const (
	refusedMark = "/refused"
	droppedMark = "/dropped"
)

// SettingsPart returns the stream for an entry that does not belong to a task.
func SettingsPart(e *settings.AuditEntry) string {
	switch e.Action {
	case settings.ActionTokenRefused, settings.ActionScopeRefused:
		return e.Namespace + refusedMark
	case settings.ActionDropped:
		return e.Namespace + droppedMark
	}
	return e.Namespace
}

// stream is one stream of the audit log.
type stream struct {
	key       string
	number    int             // see seqOf
	shard     *keyspace.Shard // nil: the stream belongs to no shard
	registry  string          // the hash with the field namespace; empty means that no hash lists the stream
	namespace string
}

// nodesStream returns the stream of all nodes, with entries of several
// namespaces.
func (l *Log) nodesStream() stream {
	return stream{key: l.servers.Keys.NodesLog, number: len(l.shards) + 1}
}

// streamsOf returns the streams that can hold entries of a namespace.
func (l *Log) streamsOf(namespace string) []stream {
	all := []stream{l.nodesStream(), l.settingsStream(namespace), l.settingsStream(namespace + refusedMark), l.settingsStream(namespace + droppedMark)}
	for _, sh := range l.shards {
		all = append(all, shardStream(sh, namespace))
	}
	return all
}

func (l *Log) settingsStream(namespace string) stream {
	return stream{keyspace.LogOf(l.servers.Keys.SettingsLog, namespace), len(l.shards) + 2, nil, l.servers.Keys.SettingsLogs, namespace}
}

func shardStream(sh *keyspace.Shard, namespace string) stream {
	return stream{keyspace.LogOf(sh.Log, namespace), sh.Number, sh, sh.Logs, namespace}
}

// streams returns the streams of the settings, of the nodes and of these
// shards.
func (l *Log) streams(ctx context.Context, shards []*keyspace.Shard) ([]stream, error) {
	members := func(key string) redisconn.Command {
		return func(b rueidis.Builder) rueidis.Completed { return b.Hkeys().Key(key).Build() }
	}
	commands := []redisconn.Command{members(l.servers.Keys.SettingsLogs)}
	for _, sh := range shards {
		commands = append(commands, members(sh.Logs))
	}
	results, err := l.servers.Ask(ctx, commands...)
	if err != nil {
		return nil, err
	}
	all := []stream{l.nodesStream()}
	for i, r := range results {
		namespaces, err := r.AsStrSlice()
		if err != nil {
			return nil, err
		}
		for _, namespace := range namespaces {
			switch {
			case namespace == "/": // the time of the settings' streams
			case i == 0:
				all = append(all, l.settingsStream(namespace))
			default:
				all = append(all, shardStream(shards[i-1], namespace))
			}
		}
	}
	return all, nil
}

// entry is an entry of the audit log with its id in the stream.
type entry struct {
	settings.AuditEntry
	stream stream
	id     string
}

// part is a range of a stream.
type part struct {
	stream
	read func(b rueidis.Builder, key string) rueidis.Completed
}

// streamsAtOnce bounds the commands of one pipeline. There are as many streams
// as namespaces times shards. All in one pipeline would take longer than one
// try may, and would delay other calls.
const streamsAtOnce = 4096

// askMany is Servers.Ask for one command for each stream, in several pipelines.
func (l *Log) askMany(ctx context.Context, commands []redisconn.Command) ([]rueidis.RedisResult, error) {
	all := make([]rueidis.RedisResult, 0, len(commands))
	for some := range slices.Chunk(commands, streamsAtOnce) {
		results, err := l.servers.Ask(ctx, some...)
		if err != nil {
			return nil, err
		}
		all = append(all, results...)
	}
	return all, nil
}

// readLogs reads parts of streams.
func (l *Log) readLogs(ctx context.Context, parts []part) ([][]entry, error) {
	commands := make([]redisconn.Command, len(parts))
	for i, p := range parts {
		commands[i] = func(b rueidis.Builder) rueidis.Completed { return p.read(b, p.key) }
	}
	results, err := l.askMany(ctx, commands)
	if err != nil {
		return nil, err
	}
	lists := make([][]entry, len(parts))
	for i, r := range results {
		found, err := r.AsXRange()
		if err != nil {
			return nil, err
		}
		for _, x := range found {
			e, err := parts[i].decodeEntry(x)
			if err != nil {
				return nil, err
			}
			if e.Seq, err = seqOf(x.ID, parts[i].number); err != nil {
				return nil, err
			}
			lists[i] = append(lists[i], entry{e, parts[i].stream, x.ID})
		}
	}
	return lists, nil
}

// EncodeEntry returns e as scripts append it to a stream. namespace is the one in
// the key of the stream: it makes most entries shorter.
func EncodeEntry(e *settings.AuditEntry, namespace string) string {
	var space [256]byte // most entries fit
	return string(codec.AppendAuditEntry(append(space[:0], codec.Format), &settings.AuditEntry{Namespace: namespace}, e))
}

// decodeEntry returns an entry of st.
func (st *stream) decodeEntry(x rueidis.XRangeEntry) (settings.AuditEntry, error) {
	entries, err := codec.DecodeAuditEntries(x.FieldValues["e"], settings.AuditEntry{Namespace: st.namespace})
	if err != nil || len(entries) != 1 {
		return settings.AuditEntry{}, errors.Join(fmt.Errorf("entry %s of the audit log: %w", x.ID, errDamaged), err)
	}
	return entries[0], nil
}

// Page returns at most limit entries with a Seq below before, newest first.
// before 0 means no bound.
func (l *Log) Page(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (page settings.AuditPage, err error) {
	before = cmp.Or(before, maxSeq)
	streams := l.streamsOf(f.Namespace)
	if f.Namespace == "" {
		if streams, err = l.streams(ctx, l.shards); err != nil {
			return settings.AuditPage{}, err
		}
	}
	for examined, part := 0, max(limit, 100); examined < task.MaxPageExamined; part = max(part, 1000) {
		newest, more, err := l.newest(ctx, streams, before, min(part, task.MaxPageExamined-examined))
		if err != nil {
			return settings.AuditPage{}, err
		}
		for _, e := range newest {
			if len(page.Entries) >= limit {
				return page, nil
			}
			examined++
			before, page.Next = e.Seq, e.Seq
			if f.Match(&e.AuditEntry) {
				page.Entries = append(page.Entries, e.AuditEntry)
			}
		}
		if !more {
			page.Next = 0
			return page, nil
		}
	}
	return page, nil
}

// newest returns the newest entries of streams with a Seq below before, at most
// limit, and whether there are more. It asks each stream for somewhat more than
// its share, and again if that was too few.
func (l *Log) newest(ctx context.Context, streams []stream, before uint64, limit int) ([]entry, bool, error) {
	end := "+"
	if before != maxSeq {
		end = strconv.FormatUint(before>>seqStream+seqEpoch, 10)
	}
	open, lists := make([]bool, len(streams)), make([][]entry, len(streams)) // open: more entries of the stream may be needed
	for i := range open {
		open[i] = true
	}
	for ask := min(limit+2, 2+2*limit/len(streams)); ; ask = min(4*ask, limit+2) {
		var parts []part
		var of []int
		for i, st := range streams {
			if !open[i] {
				continue
			}
			from := end
			if n := len(lists[i]); n > 0 {
				from = "(" + lists[i][n-1].id
			}
			parts, of = append(parts, part{st, func(b rueidis.Builder, key string) rueidis.Completed {
				return b.Xrevrange().Key(key).End(from).Start("-").Count(int64(ask)).Build()
			}}), append(of, i)
		}
		found, err := l.readLogs(ctx, parts)
		if err != nil {
			return nil, false, err
		}
		for n, list := range found {
			lists[of[n]] = append(lists[of[n]], list...)
			open[of[n]] = len(list) == ask
		}
		var all []entry
		for _, list := range lists {
			for _, e := range list {
				if e.Seq < before {
					all = append(all, e)
				}
			}
		}
		slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(b.Seq, a.Seq) })
		more := len(all) > limit
		for i := range open {
			if open[i] && more && lists[i][len(lists[i])-1].Seq < all[limit].Seq {
				open[i] = false
			}
		}
		if !slices.Contains(open, true) {
			return all[:min(len(all), limit)], more, nil
		}
	}
}
