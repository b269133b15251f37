package redisstore

import (
	"cmp"
	"context"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// recordReader reads records from the shards that they lie in.
type recordReader struct {
	servers *redisconn.Servers
	shards  []*keyspace.Shard
}

func newRecordReader(servers *redisconn.Servers, shards []*keyspace.Shard) *recordReader {
	return &recordReader{servers, shards}
}

func (rd *recordReader) shard(key task.Key) *keyspace.Shard {
	return rd.shards[keyspace.ShardOf(key, len(rd.shards))]
}

// read asks for a record, and its body.
type read struct {
	key  task.Key
	body bool
}

type found struct {
	record
	body []byte
	err  error // it is there, and cannot be read
}

// withBody returns the task with its body loaded.
func (f found) withBody() *task.Task {
	t := *f.task
	t.Request.Body = f.body
	return &t
}

// readAll is readEach where all must be read.
func (rd *recordReader) readAll(ctx context.Context, reads []read) ([]found, error) {
	all, err := rd.readEach(ctx, reads)
	for _, one := range all {
		err = cmp.Or(err, one.err)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// readEach reads records, each with its body as they were at one moment.
func (rd *recordReader) readEach(ctx context.Context, reads []read) ([]found, error) {
	if len(reads) == 0 {
		return nil, nil
	}
	groups, places := redisconn.Group(rd.servers.Cluster, reads, func(r read) *keyspace.Shard { return rd.shard(r.key) })
	runs := make([]redisconn.Run, len(groups))
	for i, g := range groups {
		for _, r := range g {
			sh := rd.shard(r.key)
			wanted := ""
			if r.body {
				wanted = "1"
			}
			runs[i].Keys = append(runs[i].Keys, sh.Meta, sh.Body)
			runs[i].Args = append(runs[i].Args, keyspace.Field(r.key), wanted)
		}
	}
	results, err := rd.servers.Repeat(ctx, get, runs...)
	if err != nil {
		return nil, err
	}
	out := make([]found, len(reads))
	for i, r := range results {
		texts, err := r.AsStrSlice()
		if err != nil {
			return nil, err
		}
		for n, at := range places[i] {
			out[at].record, out[at].err = parseRecord(reads[at].key, texts[2*n])
			if t := out[at].task; reads[at].body && t != nil && t.Request.BodySize > 0 {
				out[at].body = []byte(texts[2*n+1])
			}
		}
	}
	return out, nil
}
