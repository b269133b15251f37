package audit

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// The bounds on the audit entries of a namespace. If a namespace exceeds one,
// its own oldest entries are removed, and an entry records how many.
const (
	// MaxTaskEntries bounds the task entries and maxSettingsEntries the
	// settings entries. Even if a namespace changes very many tasks, the
	// entries of its admins stay.
	MaxTaskEntries     = 1_000_000
	maxSettingsEntries = 100_000

	// entryBytes is about twice the memory of an entry in a stream. auditShare
	// is the fraction of the servers' memory that the entries of all tasks can
	// use. It is divided evenly between the existing namespaces, so shares
	// shrink only when an operator creates namespaces. minTaskEntries is the
	// smallest share.
	entryBytes     = 128
	auditShare     = 0.2
	minTaskEntries = 10_000

	// boundEvery is the time between two enforcements of the bounds. Rate
	// limits bound the entries in between.
	boundEvery = 30 * time.Second
)

// heads remembers the oldest entry of each stream, so that a sweep reads only
// the streams that lose their oldest entry.
type heads struct {
	mu      sync.Mutex // guards everything below
	oldest  map[string]head
	bounded time.Time // when the bounds were last enforced
}

type head struct {
	at  task.Millis
	seq uint64
}

// Trim removes at most limit entries from the beginning of the audit log if
// their retention ended at or before now: entries of this node's shards, of
// settings and of nodes. It stops at the first entry that stays. It reads only
// streams whose oldest entry goes or is unknown.
func (l *Log) Trim(ctx context.Context, now task.Millis, limit int) (int, error) {
	if !l.Kept() || limit <= 0 {
		return 0, nil
	}
	var own []*keyspace.Shard
	for _, h := range l.own.Owned() {
		own = append(own, h.Shard)
	}
	streams, err := l.streams(ctx, own)
	if err != nil {
		return 0, err
	}
	l.heads.mu.Lock()
	defer l.heads.mu.Unlock()
	n, err := l.trimLocked(ctx, now, streams, limit)
	if err == nil && n < limit && time.Since(l.heads.bounded) >= boundEvery {
		l.heads.bounded = time.Now()
		err = l.bound(ctx, now, streams)
	}
	return n, err
}

func (l *Log) trimLocked(ctx context.Context, now task.Millis, streams []stream, limit int) (n int, err error) {
	for more := true; more && n < limit && err == nil; {
		var gone int
		gone, more, err = l.trimSome(ctx, now, streams, limit-n)
		n += gone
	}
	return n, err
}

// trimSome does the work of trimLocked for some of the entries. It reads about
// as many entries as it is allowed to remove, for any number of streams, and
// reports whether more entries might have to go.
func (l *Log) trimSome(ctx context.Context, now task.Millis, streams []stream, limit int) (n int, more bool, err error) {
	begin, stays, err := l.expired(ctx, now, streams)
	if err != nil || len(begin) == 0 {
		return 0, false, err
	}
	parts, each := make([]part, len(begin)), min(limit, 1+2*limit/len(begin))
	for i, st := range begin {
		parts[i] = part{st, firstOf(each)}
	}
	lists, err := l.readLogs(ctx, parts)
	if err != nil {
		return 0, false, err
	}
	unread := uint64(maxSeq) // no entry that was not read has a smaller Seq
	for _, list := range lists {
		if len(list) == each {
			unread = min(unread, list[each-1].Seq)
		}
	}
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.Seq, b.Seq) })
	gone := map[string][]string{}
	more = unread != maxSeq
	for _, e := range all[:min(limit, len(all))] {
		if !l.ended(now, e.At) || e.Seq > stays {
			more = false
			break
		}
		if e.Seq > unread {
			break
		}
		gone[e.stream.key] = append(gone[e.stream.key], e.id)
		n++
	}
	var commands []redisconn.Command
	for key, ids := range gone {
		delete(l.heads.oldest, key)
		commands = append(commands, func(b rueidis.Builder) rueidis.Completed { return b.Xdel().Key(key).Id(ids...).Build() })
	}
	if _, err := l.servers.Ask(ctx, commands...); err != nil {
		return 0, false, err
	}
	return n, more, l.unlog(ctx, begin, lists, gone)
}

// ended reports whether the retention of an entry from the time at has ended.
func (l *Log) ended(now, at task.Millis) bool { return at.Add(l.config.Keep) <= now }

// expired returns the streams that lose their oldest entry, and the Seq of the
// first entry that stays, if known.
func (l *Log) expired(ctx context.Context, now task.Millis, streams []stream) (begin []stream, stays uint64, err error) {
	if l.heads.oldest == nil {
		l.heads.oldest = map[string]head{}
	}
	stays = maxSeq
	var unknown []part
	for _, st := range streams {
		switch h, known := l.heads.oldest[st.key]; {
		case known && !l.ended(now, h.at):
			stays = min(stays, h.seq)
		default: // another node may have removed it already
			unknown = append(unknown, part{st, firstOf(1)})
		}
	}
	lists, err := l.readLogs(ctx, unknown)
	if err != nil {
		return nil, 0, err
	}
	for i, list := range lists {
		switch {
		case len(list) == 0:
		case l.ended(now, list[0].At):
			begin = append(begin, unknown[i].stream)
		default:
			l.heads.oldest[unknown[i].key] = head{list[0].At, list[0].Seq}
			stays = min(stays, list[0].Seq)
		}
	}
	return begin, stays, nil
}

// unlog removes streams without entries.
func (l *Log) unlog(ctx context.Context, streams []stream, had [][]entry, gone map[string][]string) error {
	var empty []redisconn.Run
	for i, st := range streams {
		if st.registry != "" && len(gone[st.key]) == len(had[i]) {
			empty = append(empty, redisconn.Run{Keys: []string{st.key, st.registry}, Args: []string{st.namespace}})
		}
	}
	_, err := l.servers.Repeat(ctx, unlog, empty...)
	return err
}

// firstOf returns the command that reads the first n entries of a stream.
func firstOf(n int) func(rueidis.Builder, string) rueidis.Completed {
	return func(b rueidis.Builder, key string) rueidis.Completed {
		return b.Xrange().Key(key).Start("-").End("+").Count(int64(n)).Build()
	}
}

// taskEntries returns how many task entries a namespace can have in all shards
// together.
func (l *Log) taskEntries() int {
	memory := l.servers.MemoryLimit()
	if memory == 0 {
		return l.length(MaxTaskEntries)
	}
	share := auditShare * float64(memory) / entryBytes / float64(1+len(l.config.Settings().List(settings.NamespaceKind, "")))
	return l.length(min(MaxTaskEntries, max(minTaskEntries, int(share))))
}

// bound removes the oldest entries of each namespace that exceeds a bound, and
// records that. Each node bounds its own shards by their share of the total.
func (l *Log) bound(ctx context.Context, now task.Millis, streams []stream) error {
	var commands []redisconn.Command
	var own []stream
	for _, st := range streams {
		if st.registry != "" {
			own, commands = append(own, st), append(commands, func(b rueidis.Builder) rueidis.Completed { return b.Xlen().Key(st.key).Build() })
		}
	}
	results, err := l.askMany(ctx, commands)
	if err != nil {
		return err
	}
	kinds := [2]map[string]*excess{{}, {}} // one map for settings, one for tasks; the keys are namespaces
	most := [2]int{l.length(maxSettingsEntries), l.taskEntries() * max(len(l.own.Owned()), 1) / len(l.shards)}
	for i, r := range results {
		n, err := r.AsInt64()
		if err != nil {
			return err
		}
		kind := kinds[0]
		if own[i].shard != nil {
			kind = kinds[1]
		}
		x := kind[own[i].namespace]
		if x == nil {
			x = &excess{namespace: own[i].namespace}
			kind[own[i].namespace] = x
		}
		x.streams, x.lengths, x.total = append(x.streams, own[i].key), append(x.lengths, n), x.total+n
	}
	rooms, err := l.rooms(ctx)
	if err != nil {
		return err
	}
	for i, kind := range kinds {
		for _, x := range kind {
			limit := int64(most[i])
			if room, limited := rooms[x.namespace]; limited && i == 1 {
				limit = min(limit, room*int64(max(len(l.own.Owned()), 1))/int64(len(l.shards)))
			}
			if x.total <= limit {
				continue
			}
			if err := l.shed(ctx, now, x, limit); err != nil {
				return err
			}
		}
	}
	return nil
}

// rooms returns how many task entries each namespace with a quota of bytes may
// have.
func (l *Log) rooms(ctx context.Context) (map[string]int64, error) {
	rooms, records := map[string]int64{}, map[string]int64{}
	var quotas []*settings.NamespaceSettings
	for _, setting := range l.config.Settings().List(settings.NamespaceKind, "") {
		if n := setting.(*settings.NamespaceSettings); n.MaxBytes > 0 {
			quotas = append(quotas, n)
		}
	}
	if len(quotas) == 0 {
		return rooms, nil
	}
	counts, err := l.config.Counts(ctx)
	if err != nil {
		return nil, err
	}
	for q, c := range counts {
		records[q.Namespace] += c.Bytes
	}
	for _, n := range quotas {
		rooms[n.Name], _ = n.AuditRoom(records[n.Name])
	}
	return rooms, nil
}

// excess holds the streams of a namespace that can have too many entries.
type excess struct {
	namespace string
	streams   []string
	lengths   []int64
	total     int64
}

// shed removes the oldest entries of x until it has somewhat fewer than most.
// Each stream loses the same fraction, because names are spread over shards at
// random.
func (l *Log) shed(ctx context.Context, now task.Millis, x *excess, most int64) error {
	keep := settings.AuditKept(most)
	commands := make([]redisconn.Command, len(x.streams))
	for i, key := range x.streams {
		delete(l.heads.oldest, key)
		commands[i] = func(b rueidis.Builder) rueidis.Completed {
			return b.Xtrim().Key(key).Maxlen().Threshold(fmt.Sprint(x.lengths[i] * keep / x.total)).Build()
		}
	}
	results, err := l.servers.Ask(ctx, commands...)
	if err != nil {
		return err
	}
	var gone int64
	for _, r := range results {
		n, err := r.AsInt64()
		if err != nil {
			return err
		}
		gone += n
	}
	if gone == 0 {
		return nil
	}
	l.config.Logger.LogAttrs(ctx, slog.LevelWarn, "the oldest audit entries of a namespace were dropped: the namespace had more than its limit",
		slog.String("namespace", x.namespace), slog.Int64("dropped", gone), slog.Int64("limit", most))
	namespace, _, _ := strings.Cut(x.namespace, "/") // without the mark
	return l.config.Record(ctx, []settings.AuditEntry{settings.AuditDropped(now, namespace, gone, most)})
}
