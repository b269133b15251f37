package redisconn

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"
)

// Repair is a list of commands for the script mend, and the value on which they
// depend.
type Repair struct{ run Run }

// NewRepair returns a repair that runs only if a field of the hash at key
// begins with the expected n bytes. With n = -1 the whole value is compared.
// expected "" means that there must be no value.
func NewRepair(key, field string, n int, expected string) *Repair {
	return &Repair{Run{Keys: []string{key}, Args: []string{field, strconv.Itoa(n), expected}}}
}

// Write adds a command on a key.
func (r *Repair) Write(name, key string, args ...string) {
	r.run.Keys = append(r.run.Keys, key)
	r.run.Args = append(append(r.run.Args, name, strconv.Itoa(len(r.run.Keys)), strconv.Itoa(len(args))), args...)
}

// Mend applies repairs. The reply for each is the sum of the replies of its
// commands, or -1 if the value has changed.
func (s *Servers) Mend(ctx context.Context, repairs ...*Repair) ([]int64, error) {
	runs := make([]Run, len(repairs))
	for i, r := range repairs {
		runs[i] = r.run
	}
	return ReadRuns(ctx, s, rueidis.RedisResult.AsInt64, mend, runs...)
}
