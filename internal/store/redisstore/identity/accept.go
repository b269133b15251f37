package identity

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// Found describes the store in the servers, and its lost parts.
type Found struct {
	Identity string // "": there is no store
	Parts    int    // parts that have the identity
	Lost     []string
	// SettingsLost means that settings existed and are gone.
	SettingsLost bool

	servers *redisconn.Servers
	meta    map[string]string // fields of s.Keys.Meta
	shards  int               // zero means unknown
	parts   []Hash            // the lost parts
	instead []string          // the identity that each lost part has instead
}

// Whole reports whether no part is lost.
func (f *Found) Whole() bool { return len(f.Lost) == 0 && !f.SettingsLost }

// AcceptLoss does the work of AcceptLoss of the store. shards is the former
// number of shards, or 0 if it is unknown, and lease is Config.ShardLease of
// the store.
func AcceptLoss(ctx context.Context, s *redisconn.Servers, shards int, lease time.Duration, agreed func(*Found) error) (*Found, error) {
	f, err := find(ctx, s, shards)
	if err != nil || f.Whole() {
		return f, err
	}
	if f.shards == 0 {
		return f, fmt.Errorf("%w: the key %s is lost, and the number of shards cannot be read: pass --shards with the value of the servers", ErrConfig, s.Keys.Meta)
	}
	if err := agreed(f); err != nil {
		return f, err
	}
	return f, f.accept(ctx, lease)
}

// find reads which store the servers hold. shards is the former number of
// shards, or 0 if it is unknown. After an error, find returns the data that it
// could read, or nil.
func find(ctx context.Context, s *redisconn.Servers, shards int) (*Found, error) {
	fields, err := redisconn.Read(ctx, s, rueidis.RedisResult.AsStrMap, redisconn.EachOf([]string{s.Keys.Meta, s.Keys.SettingsID, s.Keys.NodesID}, func(b rueidis.Builder, key string) rueidis.Completed {
		return b.Hgetall().Key(key).Build()
	})...)
	if err != nil {
		return nil, err
	}
	f := &Found{servers: s, meta: fields[0]}
	for i := range fields {
		n, _ := strconv.Atoi(fields[i]["shards"]) // a missing field is 0
		f.shards = cmp.Or(f.shards, n)
	}
	f.shards = cmp.Or(f.shards, shards)
	if fields[1]["made"] != "" {
		there, err := configured(ctx, s)
		if err != nil {
			return nil, err
		}
		f.SettingsLost = !there
	}
	return f, f.compare(ctx)
}

func configured(ctx context.Context, s *redisconn.Servers) (bool, error) {
	return redisconn.ReadOne(ctx, s, rueidis.RedisResult.AsBool, func(b rueidis.Builder) rueidis.Completed {
		return b.Hexists().Key(s.Keys.Settings).Field(keyspace.VersionField).Build()
	})
}

func (f *Found) compare(ctx context.Context) error {
	hashes := append([]Hash{MetaHash(f.servers.Keys)}, HashesOf(f.servers.Keys, f.servers.Keys.Shards(cmp.Or(f.shards, DefaultShards(f.servers.Cluster))))...)
	found, _, away := readIdentities(ctx, f.servers, hashes)
	count, most := map[string]int{}, ""
	for _, id := range found {
		if id == nil || *id == "" {
			continue
		}
		if count[*id]++; count[*id] > count[most] {
			most = *id
		}
	}
	f.Identity = cmp.Or(f.meta[metaField], most)
	if f.Identity == "" {
		return away
	}
	f.Parts = count[f.Identity]
	begun := f.meta[metaField] != "" && f.meta["whole"] == "" // the next server gives the identity to parts without one
	for i, b := range hashes {
		if id := found[i]; id != nil && *id != f.Identity && (*id != "" || !begun) {
			f.Lost, f.parts, f.instead = append(f.Lost, b.Differs(*id)), append(f.parts, b), append(f.instead, *id)
		}
	}
	return away
}

func (f *Found) accept(ctx context.Context, lease time.Duration) error {
	repairs := make([]*redisconn.Repair, 0, len(f.parts)+1)
	for i, b := range f.parts {
		r := repairOf(f.servers.Keys, b, f.instead[i], f.Identity, f.shards)
		if b.Field == metaField {
			r.Write("HSET", b.Key, "whole", "1")
			if f.meta["format"] == "" {
				r.Write("HSET", b.Key, "format", format, "shards", strconv.Itoa(f.shards), "lease", millis(lease))
			}
		}
		repairs = append(repairs, r)
	}
	if f.SettingsLost {
		r := redisconn.NewRepair(f.servers.Keys.SettingsID, "made", -1, "1")
		r.Write("HDEL", f.servers.Keys.SettingsID, "made")
		repairs = append(repairs, r)
	}
	_, err := f.servers.Mend(ctx, repairs...)
	return err
}

// Layout describes how the servers store tasks, and the zero Layout that
// nothing is stored.
type Layout struct {
	Format     string
	Shards     int
	Lease      time.Duration
	Unreadable error // why this program cannot use it; nil means that it can
	Store      *Found
}

// ReadLayout reads how tasks are stored, and the identity of the store.
func ReadLayout(ctx context.Context, s *redisconn.Servers, shards int) (Layout, error) {
	f, err := find(ctx, s, shards)
	if f == nil {
		return Layout{}, err
	}
	l := Layout{Store: f}
	if len(f.meta) > 0 {
		m, err := parseMeta(s.Keys.Meta, f.meta)
		l.Format, l.Shards, l.Lease, l.Unreadable = m.format, m.Shards, m.lease, err
	}
	return l, nil
}
