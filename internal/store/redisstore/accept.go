package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// Found says which store the servers hold, and which parts are lost.
type Found struct {
	Identity string // "": there is no store, or one of an older version, which has none
	Parts    int    // that bear the identity
	Lost     []string
	// SettingsLost: settings were made, and are gone.
	SettingsLost bool

	servers *redisconn.Servers
	meta    map[string]string // fields of keyspace.MetaKey
	shards  int               // 0: not known
	parts   []bearer          // that are lost
	borne   []string          // the identity that each bears instead
}

// Whole reports whether nothing is lost.
func (f *Found) Whole() bool { return len(f.Lost) == 0 && !f.SettingsLost }

// AcceptLoss makes a store of the rest in the servers that c names, if agreed
// returns nil for it. The parts that were lost get the identity of those that are left, so that
// servers go on with the rest. It must be asked for by a person: nothing that was
// lost comes back.
func AcceptLoss(ctx context.Context, c Config, agreed func(*Found) error) (*Found, error) {
	c = c.withDefaults()
	s, err := redisconn.Link(ctx, c.conn())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.CheckMode(ctx); err != nil {
		return nil, err
	}
	f, err := find(ctx, s, c.Shards)
	if err != nil || f.Whole() {
		return f, err
	}
	if f.shards == 0 {
		return f, fmt.Errorf("%w: the key %s is lost, and the number of shards cannot be read: pass --shards with the value of the servers", errConfig, keyspace.MetaKey)
	}
	if err := agreed(f); err != nil {
		return f, err
	}
	return f, f.accept(ctx, c)
}

// find reads which store lies in the servers. shards is how many there were, 0 if that
// is not known. With an error it returns the part that it could read, or nil.
func find(ctx context.Context, s *redisconn.Servers, shards int) (*Found, error) {
	f := &Found{servers: s}
	var made bool
	for _, key := range []string{keyspace.MetaKey, keyspace.SettingsID, keyspace.NodesID} {
		reply, err := s.One(ctx, func(b rueidis.Builder) rueidis.Completed { return b.Hgetall().Key(key).Build() })
		if err != nil {
			return nil, err
		}
		fields, err := reply.AsStrMap()
		if err != nil {
			return nil, err
		}
		if key == keyspace.MetaKey {
			f.meta = fields
		}
		made = made || key == keyspace.SettingsID && fields["made"] != ""
		n, _ := strconv.Atoi(fields["shards"]) // a missing field is 0
		f.shards = cmp.Or(f.shards, n)
	}
	f.shards = cmp.Or(f.shards, shards)
	if made {
		reply, err := s.One(ctx, func(b rueidis.Builder) rueidis.Completed {
			return b.Hexists().Key(keyspace.SettingsKey).Field(versionField).Build()
		})
		if err != nil {
			return nil, err
		}
		there, err := reply.AsBool()
		if err != nil {
			return nil, err
		}
		f.SettingsLost = !there
	}
	return f, f.compare(ctx)
}

// compare finds the parts that are lost.
func (f *Found) compare(ctx context.Context) error {
	bearers := append([]bearer{metaBearer}, bearersOf(keyspace.NewShards(cmp.Or(f.shards, DefaultShards)))...)
	found, away := borne(ctx, f.servers, bearers)
	count, most := map[string]int{}, ""
	for _, id := range found {
		if id == nil || *id == "" {
			continue
		}
		if count[*id]++; count[*id] > count[most] {
			most = *id
		}
	}
	f.Identity = cmp.Or(f.meta[metaBearer.field], most)
	if f.Identity == "" {
		return away
	}
	f.Parts = count[f.Identity]
	begun := f.meta[metaBearer.field] != "" && f.meta["whole"] == "" // the next server gives it to those that have none
	for i, b := range bearers {
		if id := found[i]; id != nil && *id != f.Identity && (*id != "" || !begun) {
			f.Lost, f.parts, f.borne = append(f.Lost, b.differs(*id)), append(f.parts, b), append(f.borne, *id)
		}
	}
	return away
}

// accept gives the identity to the parts that are lost.
func (f *Found) accept(ctx context.Context, c Config) error {
	shards := strconv.Itoa(f.shards)
	runs := make([]redisconn.Run, 0, len(f.parts)+1)
	for i, b := range f.parts {
		r := &repair{keys: []string{b.key}, args: []string{b.field, "-1", f.borne[i]}}
		r.write("HSET", b.key, b.field, f.Identity)
		switch {
		case b.key == keyspace.MetaKey && f.meta["format"] == "": // older versions are kept out: there may be schedules
			r.write("HSET", b.key, "format", strconv.Itoa(format), "oldest", strconv.Itoa(scheduleFormat), "shards", shards, "lease", millis(c.ShardLease), "whole", "1")
		case b.key == keyspace.MetaKey:
			r.write("HSET", b.key, "whole", "1")
		case b.key == keyspace.SettingsID, b.key == keyspace.NodesID:
			r.write("HSET", b.key, "shards", shards)
		}
		runs = append(runs, redisconn.Run{Keys: r.keys, Args: r.args})
	}
	if f.SettingsLost {
		r := &repair{keys: []string{keyspace.SettingsID}, args: []string{"made", "-1", "1"}}
		r.write("HDEL", keyspace.SettingsID, "made")
		runs = append(runs, redisconn.Run{Keys: r.keys, Args: r.args})
	}
	_, err := f.servers.Repeat(ctx, mend, runs...)
	return err
}
