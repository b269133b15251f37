package redisstore

import (
	"cmp"
	"context"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// Remove removes all keys of the store, which no server may have open.
func Remove(ctx context.Context, c Config) error {
	c = c.withDefaults()
	s, err := redisconn.Link(ctx, c.conn())
	if err != nil {
		return err
	}
	defer s.Close()
	prefix := cmp.Or(c.Prefix, keyspace.DefaultPrefix) + ":"
	if err := s.Client.Do(ctx, s.Client.B().Unlink().Key(prefix).Build()).Error(); err != nil { // shows the right to do so, even without keys
		return err
	}
	for _, node := range s.Client.Nodes() {
		for cursor, first := uint64(0), true; first || cursor != 0; first = false {
			page, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(prefix+"*").Count(1000).Build()).AsScanEntry()
			if err != nil {
				return err
			}
			cursor = page.Cursor
			commands := make(rueidis.Commands, len(page.Elements))
			for i, key := range page.Elements {
				commands[i] = s.Client.B().Unlink().Key(key).Build()
			}
			for _, r := range s.Client.DoMulti(ctx, commands...) {
				if err := r.Error(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
