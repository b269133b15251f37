package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// The parts of the history are in hashes, which Redis removes when the time of all of
// their parts has ended: the minutes of an hour, or the hours of a day. Minutes without a
// sum are kept as long as hours, because a downtime may follow. A field has the beginning
// of a part and its writer.
func hashSpan(hours bool) task.Millis {
	span := time.Hour
	if hours {
		span = 24 * time.Hour
	}
	return task.Millis(span / time.Millisecond)
}

func (s *Store) pastKey(hours bool, at task.Millis) string {
	kind := "m:"
	if hours {
		kind = "h:"
	}
	return s.servers.Keys.Past + kind + strconv.FormatInt(int64(at/hashSpan(hours)), 10)
}

// Remember implements history.Store.
func (s *Store) Remember(ctx context.Context, now task.Millis, parts []history.Part) error {
	_, err := store.Call(ctx, &s.calls, func() ([]int64, error) {
		var writes []redisconn.Command
		for _, p := range parts {
			key, field := s.pastKey(p.Hour, p.At), fmt.Sprintf("%d/%s", p.At, p.Writer)
			keep := func(key string, hour bool) redisconn.Command {
				left := now + hashSpan(hour) - history.Expired(hour, now)
				return func(b rueidis.Builder) rueidis.Completed {
					return b.Pexpire().Key(key).Milliseconds(int64(left)).Build()
				}
			}
			writes = append(writes, func(b rueidis.Builder) rueidis.Completed {
				return b.Hset().Key(key).FieldValue().FieldValue(field, string(p.Data)).Build()
			}, keep(key, true))
			if p.Hour {
				writes = append(writes, keep(s.pastKey(false, p.At), false))
			}
		}
		return redisconn.Read(ctx, s.servers, rueidis.RedisResult.AsInt64, writes...)
	})
	return err
}

// History implements history.Store.
func (s *Store) History(ctx context.Context, hours bool, from, until task.Millis) ([]history.Part, error) {
	return store.Call(ctx, &s.calls, func() (found []history.Part, err error) {
		var reads []redisconn.Command
		for at, span := from-from%hashSpan(hours), hashSpan(hours); at < until; at += span {
			reads = append(reads, func(b rueidis.Builder) rueidis.Completed { return b.Hgetall().Key(s.pastKey(hours, at)).Build() })
		}
		hashes, err := redisconn.Read(ctx, s.servers, rueidis.RedisResult.AsStrMap, reads...)
		for _, hash := range hashes {
			for field, data := range hash {
				text, writer, _ := strings.Cut(field, "/")
				n, err := strconv.ParseInt(text, 10, 64)
				if err != nil {
					return nil, fmt.Errorf("field %q of the history: %w", field, codec.ErrDamaged)
				}
				if at := task.Millis(n); from <= at && at < until {
					found = append(found, history.Part{Hour: hours, At: at, Writer: writer, Data: []byte(data)})
				}
			}
		}
		return found, err
	})
}
