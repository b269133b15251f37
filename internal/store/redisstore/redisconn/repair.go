package redisconn

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"
)

// Repair is what the script mend writes, if a value is still as it was read.
type Repair struct{ run Run }

// NewRepair returns a repair that depends on the first n bytes of a field of the hash at key, -1: on
// all of it. They must be the expected ones. "": there must be no value.
func NewRepair(key, field string, n int, expected string) *Repair {
	return &Repair{Run{Keys: []string{key}, Args: []string{field, strconv.Itoa(n), expected}}}
}

// Write adds a command on a key.
func (r *Repair) Write(name, key string, args ...string) {
	r.run.Keys = append(r.run.Keys, key)
	r.run.Args = append(append(r.run.Args, name, strconv.Itoa(len(r.run.Keys)), strconv.Itoa(len(args))), args...)
}

// Mend carries out repairs, and returns a reply for each: the sum of what its commands
// replied, or -1 if the value is another one.
func (s *Servers) Mend(ctx context.Context, repairs ...*Repair) ([]rueidis.RedisResult, error) {
	runs := make([]Run, len(repairs))
	for i, r := range repairs {
		runs[i] = r.run
	}
	return s.Repeat(ctx, mend, runs...)
}
