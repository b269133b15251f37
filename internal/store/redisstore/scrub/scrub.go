package scrub

import (
	"cmp"
	"context"
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

// A scrub walks the shards of this node one after another. In each shard it
// walks the keys in the order of the spaces below. Records come first, so their
// missing entries exist when entries are examined. A disagreement is only a
// suspicion at first, because other nodes write during the scrub. Scripts
// repair it: they check the record's stamp again, and change nothing if the
// data is correct.
//
// A scrub misses entries of a lane that is in no index and in no record. Such
// entries do no harm, because no node reads them.
const (
	recordSpace = iota
	nameSpace
	bodySpace
	runningSpace
	deadSpace
	goneSpace
	keepSpace
	dueSpace
	laneSpace
	idemSpace
	spaces
)

// position is a place in a scrub: after a member, within the result of a scan.
type position struct {
	shard, space int
	lane         string // in dueSpace
	scan         string // the cursor from which the scan of the key continues
	after        string // the last member of the scan's result that was examined; empty means none
}

// String returns p as a cursor. Lanes have no NUL byte; a member can have some.
func (p position) String() string {
	return strings.Join([]string{strconv.Itoa(p.shard), strconv.Itoa(p.space), p.lane, p.scan, p.after}, "\x00")
}

func parsePosition(cursor string) (p position, err error) {
	if cursor == "" {
		return position{scan: "0"}, nil
	}
	parts := strings.SplitN(cursor, "\x00", 5)
	if len(parts) != 5 {
		return p, fmt.Errorf("scrub: invalid cursor %q", cursor)
	}
	var err1, err2 error
	p = position{lane: parts[2], scan: parts[3], after: parts[4]}
	p.shard, err1 = strconv.Atoi(parts[0])
	p.space, err2 = strconv.Atoi(parts[1])
	if err := cmp.Or(err1, err2); err != nil {
		return p, fmt.Errorf("scrub: invalid cursor %q: %w", cursor, err)
	}
	return p, nil
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

// run continues until the step has examined enough, or its shard ends.
func (sc *scrub) run(ctx context.Context) error {
	if !sc.seek() {
		return nil
	}
	sh := sc.shards[sc.at.shard]
	for ; sc.at.space < spaces; sc.at.space++ {
		whole, err := sc.walkSpace(ctx, sh)
		if err != nil {
			return err
		}
		if !whole {
			sc.done.Next = sc.at.String()
			return nil
		}
		sc.at = position{shard: sc.at.shard, space: sc.at.space, scan: "0"}
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
	for _, sh := range sc.own.Owned() {
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

// walkSpace examines the content of a space, and reports whether it reached the
// end.
func (sc *scrub) walkSpace(ctx context.Context, sh *keyspace.Shard) (whole bool, err error) {
	switch sc.at.space {
	case recordSpace:
		return sc.walkKey(ctx, "HSCAN", sh.Meta, -1, sc.examineRecords)
	case nameSpace:
		return sc.walkKey(ctx, "ZSCAN", sh.Names, 0, sc.entries(sh.Names))
	case bodySpace:
		return sc.walkKey(ctx, "HSCAN", sh.Body, 0, sc.entries(sh.Body))
	case runningSpace:
		return sc.walkKey(ctx, "ZSCAN", sh.Running, 0, sc.entries(sh.Running))
	case deadSpace:
		return sc.walkKey(ctx, "ZSCAN", sh.Dead, 0, sc.entriesOf(sh.Dead, keyspace.FieldOfEnd))
	case goneSpace:
		return sc.walkKey(ctx, "ZSCAN", sh.Gone, 0, sc.entriesOf(sh.Gone, keyspace.FieldOfEnd))
	case keepSpace:
		return sc.walkKey(ctx, "ZSCAN", sh.Keep, 0, sc.entries(sh.Keep))
	case laneSpace:
		return sc.walkKey(ctx, "ZSCAN", sh.Lanes, -1, sc.laneBounds)
	case idemSpace:
		return sc.walkKey(ctx, "HSCAN", sh.Idem, -1, sc.claims)
	}
	return sc.walkLanes(ctx, sh)
}

// walkLanes examines the due indexes of a shard.
func (sc *scrub) walkLanes(ctx context.Context, sh *keyspace.Shard) (whole bool, err error) {
	r, err := sc.servers.One(ctx, func(b rueidis.Builder) rueidis.Completed {
		return b.Zrange().Key(sh.Lanes).Min("0").Max("-1").Build()
	})
	if err != nil {
		return false, err
	}
	lanes, err := r.AsStrSlice()
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
		whole, err := sc.walkKey(ctx, "ZSCAN", sh.Due(lane), 0, sc.entriesOf(sh.Due(lane), func(name string) string { return namespace + "/" + name }))
		if err != nil || !whole {
			return false, err
		}
		sc.at.lane, sc.at.scan, sc.at.after = lane+"\x01", "0", "" // after it
	}
	return true, nil
}

// member is a member or a field, and its value or score.
type member struct{ name, value string }

// walkKey examines a key from the step's position on, and reports whether it
// reached the end. A scan can return more members than requested. The next step
// takes the rest in the order of the members.
func (sc *scrub) walkKey(ctx context.Context, command, key string, bytes int, examine func(context.Context, *keyspace.Shard, []member) error) (whole bool, err error) {
	for {
		limit := sc.limit - sc.done.Examined
		if limit <= 0 {
			return false, nil
		}
		all, next, err := sc.scanKey(ctx, command, key, sc.at.scan, min(limit, redisconn.MaxReads), bytes)
		if err != nil {
			return false, err
		}
		first, _ := slices.BinarySearchFunc(all, sc.at.after+"\x00", func(m member, after string) int { return cmp.Compare(m.name, after) })
		if sc.at.after == "" {
			first = 0
		}
		part := all[first:min(first+min(limit, redisconn.MaxReads), len(all))]
		sc.done.Examined += len(part)
		if err := examine(ctx, sc.shards[sc.at.shard], part); err != nil {
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
func (s *Scrubber) scanKey(ctx context.Context, command, key, from string, count, bytes int) (all []member, next string, err error) {
	runs := []redisconn.Run{{Keys: []string{key}, Args: []string{command, from, strconv.Itoa(count), strconv.Itoa(bytes)}}}
	results, err := s.servers.Repeat(ctx, walk, runs...)
	if err != nil {
		return nil, "", err
	}
	texts, err := results[0].AsStrSlice()
	if err != nil {
		return nil, "", err
	}
	for i := 1; i+1 < len(texts); i += 2 {
		all = append(all, member{texts[i], texts[i+1]})
	}
	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return slices.CompactFunc(all, func(a, b member) bool { return a.name == b.name }), texts[0], nil
}
