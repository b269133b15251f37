package scrub

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/lanes"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/store/redisstore/registry"
	"github.com/foliot/foliot/internal/task"
)

//go:embed scripts/*.lua
var sources embed.FS

var walk = redisconn.NewScript(sources, redisconn.Reads, "walk")

// A scrub walks the shards of this node one after another, and in each shard its
// keys. Records come first, so their missing entries exist when entries are
// examined. A disagreement is only a suspicion at first, because other nodes write
// during the scrub, so a script repairs it only if the record still has its stamp.
//
// A scrub misses entries of a lane that is in no index and in no record, but they
// do no harm, because no node reads them.

// space is a key of a shard, and how its content is examined.
type space struct {
	command, key string
	bytes        int // how many bytes of each value are read; -1 means all
	examine      func(context.Context, *keyspace.Shard, []member) error
}

// spaces returns the keys of a shard in the order of the walk, without the due
// indexes, which follow.
func (sc *scrub) spaces(sh *keyspace.Shard) []space {
	field := func(member string) string { return member }
	return []space{
		{"HSCAN", sh.Records, -1, sc.examineRecords},
		{"ZSCAN", sh.Names, 0, sc.entries(sh.Names, field)},
		{"HSCAN", sh.Body, 0, sc.entries(sh.Body, field)},
		{"ZSCAN", sh.Running, 0, sc.entries(sh.Running, field)},
		{"ZSCAN", sh.Dead, 0, sc.entries(sh.Dead, keyspace.FieldOfEnd)},
		{"ZSCAN", sh.Gone, 0, sc.entries(sh.Gone, keyspace.FieldOfEnd)},
		{"ZSCAN", sh.Keep, 0, sc.entries(sh.Keep, field)},
		{"ZSCAN", sh.Lanes, -1, sc.laneBounds},
		{"HSCAN", sh.Idem, -1, sc.claims},
	}
}

// position is a place in a scrub: after a member, within the result of a scan.
type position struct {
	shard, space int
	lane         string // of the due index
	scan         string // the cursor from which the scan of the key continues
	after        string // the last member of the scan's result that was examined; empty means none
}

// String returns p as a cursor, where lanes have no NUL byte, but a member can
// have some.
func (p position) String() string {
	return strings.Join([]string{strconv.Itoa(p.shard), strconv.Itoa(p.space), p.lane, p.scan, p.after}, "\x00")
}

func parsePosition(cursor string) (position, error) {
	if cursor == "" {
		return position{scan: "0"}, nil
	}
	if parts := strings.SplitN(cursor, "\x00", 5); len(parts) == 5 {
		shard, err1 := strconv.Atoi(parts[0])
		space, err2 := strconv.Atoi(parts[1])
		if cmp.Or(err1, err2) == nil && space >= 0 {
			return position{shard, space, parts[2], parts[3], parts[4]}, nil
		}
	}
	return position{}, fmt.Errorf("scrub: invalid cursor %q", cursor)
}

// Scrubber scrubs the shards that this node owns.
type Scrubber struct {
	config    Config
	servers   *redisconn.Servers
	shards    []*keyspace.Shard
	own       *registry.Member
	lanes     *lanes.Index
	records   *records.Reader
	abandoned kernel.Abandoned
}

// Config connects a Scrubber to its store.
type Config struct {
	Logger *slog.Logger

	// TakeBack makes a step that takes back a lease, and reports whether it did.
	TakeBack func(ctx context.Context, now task.Millis, st store.Step) (bool, error)
}

// New returns a scrubber of the shards that own reports as owned.
func New(c Config, servers *redisconn.Servers, shards []*keyspace.Shard, own *registry.Member, lanes *lanes.Index, records *records.Reader) *Scrubber {
	return &Scrubber{config: c, servers: servers, shards: shards, own: own, lanes: lanes, records: records}
}

// Step scrubs from a cursor on, and examines about limit things.
func (s *Scrubber) Step(ctx context.Context, now task.Millis, cursor string, limit int) (store.Scrubbed, error) {
	at, err := parsePosition(cursor)
	if err != nil {
		return store.Scrubbed{}, err
	}
	if cursor == "" {
		s.abandoned.Begin()
	}
	sc := &scrub{Scrubber: s, now: now, limit: max(limit, 1), at: at}
	if err := sc.run(ctx); err != nil {
		return store.Scrubbed{}, err
	}
	if sc.done.Next == "" {
		s.abandoned.End()
	}
	return sc.done, nil
}

// scrub is one step of a scrub.
type scrub struct {
	*Scrubber
	at    position
	now   task.Millis
	limit int
	done  store.Scrubbed
}

func (sc *scrub) found(key task.Key, problem string) {
	sc.done.Repairs = append(sc.done.Repairs, store.Repair{Key: key, Found: problem})
}

func (sc *scrub) run(ctx context.Context) error {
	if !sc.seek() {
		return nil
	}
	sh := sc.shards[sc.at.shard]
	whole, err := sc.walk(ctx, sh)
	switch {
	case err != nil:
		return err
	case !whole:
		sc.done.Next = sc.at.String()
		return nil
	}
	if err := sc.recount(ctx, sh); err != nil {
		return err
	}
	sc.at = position{shard: sc.at.shard + 1, scan: "0"}
	if sc.seek() {
		sc.done.Next = sc.at.String()
	}
	return nil
}

// seek moves to the next shard of this node, and reports whether there is one.
func (sc *scrub) seek() bool {
	for _, sh := range sc.own.Shards() {
		if sh.Number < sc.at.shard {
			continue
		}
		if sh.Number > sc.at.shard {
			sc.at = position{shard: sh.Number, scan: "0"}
		}
		return true
	}
	return false
}

// walk examines the keys of a shard, and reports whether it reached the end.
func (sc *scrub) walk(ctx context.Context, sh *keyspace.Shard) (whole bool, err error) {
	for spaces := sc.spaces(sh); sc.at.space < len(spaces); {
		if whole, err = sc.walkKey(ctx, spaces[sc.at.space]); err != nil || !whole {
			return false, err
		}
		sc.at = position{shard: sc.at.shard, space: sc.at.space + 1, scan: "0"}
	}
	lanes, err := redisconn.ReadOne(ctx, sc.servers, rueidis.RedisResult.AsStrSlice, func(b rueidis.Builder) rueidis.Completed {
		return b.Zrange().Key(sh.Lanes).Min("0").Max("-1").Build()
	})
	if err != nil {
		return false, err
	}
	slices.Sort(lanes)
	for _, lane := range lanes {
		switch {
		case lane < sc.at.lane:
			continue
		case lane > sc.at.lane:
			sc.at.lane, sc.at.scan, sc.at.after = lane, "0", ""
		}
		namespace, _, _ := strings.Cut(lane, "/")
		of := sc.entries(sh.Due(lane), func(name string) string { return namespace + "/" + name })
		if whole, err := sc.walkKey(ctx, space{"ZSCAN", sh.Due(lane), 0, of}); err != nil || !whole {
			return false, err
		}
		sc.at.lane, sc.at.scan, sc.at.after = lane+"\x01", "0", "" // after it
	}
	return true, nil
}

// member is a member or a field, and its value or score.
type member struct{ name, value string }

// walkKey examines a key from the step's position on, and reports whether it
// reached the end. A scan can return more members than requested, so the next step
// takes the rest in the order of the members.
func (sc *scrub) walkKey(ctx context.Context, of space) (whole bool, err error) {
	for {
		limit := sc.limit - sc.done.Examined
		if limit <= 0 {
			return false, nil
		}
		all, next, err := sc.scanKey(ctx, of, sc.at.scan, min(limit, redisconn.MaxReads))
		if err != nil {
			return false, err
		}
		first, _ := slices.BinarySearchFunc(all, sc.at.after+"\x00", func(m member, after string) int { return cmp.Compare(m.name, after) })
		if sc.at.after == "" {
			first = 0
		}
		part := all[first:min(first+min(limit, redisconn.MaxReads), len(all))]
		sc.done.Examined += len(part)
		if err := of.examine(ctx, sc.shards[sc.at.shard], part); err != nil {
			return false, err
		}
		switch {
		case first+len(part) < len(all):
			sc.at.after = part[len(part)-1].name
		case next == "0":
			return true, nil
		default:
			sc.at.scan, sc.at.after = next, ""
		}
	}
}

// scanKey returns the result of a scan of a key, sorted by member and without
// duplicates.
func (s *Scrubber) scanKey(ctx context.Context, of space, from string, count int) (all []member, next string, err error) {
	results, err := redisconn.ReadRuns(ctx, s.servers, rueidis.RedisResult.AsStrSlice, walk, redisconn.Run{Keys: []string{of.key}, Args: []string{of.command, from, strconv.Itoa(count), strconv.Itoa(of.bytes)}})
	if err != nil {
		return nil, "", err
	}
	texts := results[0]
	for i := 1; i+1 < len(texts); i += 2 {
		all = append(all, member{texts[i], texts[i+1]})
	}
	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return slices.CompactFunc(all, func(a, b member) bool { return a.name == b.name }), texts[0], nil
}
