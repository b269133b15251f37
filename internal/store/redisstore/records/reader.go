package records

import (
	"cmp"
	"context"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// Reader reads records from their shards.
type Reader struct {
	servers *redisconn.Servers
	shards  []*keyspace.Shard
}

// NewReader returns a reader of the records in shards.
func NewReader(servers *redisconn.Servers, shards []*keyspace.Shard) *Reader {
	return &Reader{servers, shards}
}

func (rd *Reader) shard(key task.Key) *keyspace.Shard {
	return rd.shards[keyspace.ShardOf(key, len(rd.shards))]
}

// Read names a record, and says whether its body is needed.
type Read struct {
	Key  task.Key
	Body bool
}

// Found is a record that was read.
type Found struct {
	Record
	Body []byte
	Err  error // the record exists and cannot be read
}

// WithBody returns the task with its body loaded.
func (f Found) WithBody() *task.Task {
	t := *f.Task
	t.Request.Body = f.Body
	return &t
}

// ReadAll is ReadEach for callers that need every record: if one cannot be
// read, ReadAll fails.
func (rd *Reader) ReadAll(ctx context.Context, reads []Read) ([]Found, error) {
	all, err := rd.ReadEach(ctx, reads)
	for _, one := range all {
		err = cmp.Or(err, one.Err)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// ReadEach reads records, each atomically with its body.
func (rd *Reader) ReadEach(ctx context.Context, reads []Read) ([]Found, error) {
	groups, places := redisconn.Group(rd.servers.Cluster, reads, func(r Read) *keyspace.Shard { return rd.shard(r.Key) })
	runs := make([]redisconn.Run, len(groups))
	for i, g := range groups {
		for _, r := range g {
			sh := rd.shard(r.Key)
			wanted := ""
			if r.Body {
				wanted = "1"
			}
			runs[i].Keys = append(runs[i].Keys, sh.Records, sh.Body)
			runs[i].Args = append(runs[i].Args, keyspace.Field(r.Key), wanted)
		}
	}
	results, err := redisconn.ReadRuns(ctx, rd.servers, rueidis.RedisResult.AsStrSlice, get, runs...)
	if err != nil {
		return nil, err
	}
	out := make([]Found, len(reads))
	for i, texts := range results {
		for n, at := range places[i] {
			out[at].Record, out[at].Err = Parse(reads[at].Key, texts[2*n])
			switch one := &out[at]; {
			case !reads[at].Body:
			case one.Apart():
				one.Body = []byte(texts[2*n+1])
			default:
				one.Body = one.Inline
			}
		}
	}
	return out, nil
}
