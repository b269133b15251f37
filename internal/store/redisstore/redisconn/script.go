package redisconn

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts so
	"embed"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
)

//go:embed scripts/*.lua
var sources embed.FS

// The kinds of scripts. A script that only reaps or ends tasks can run on a
// full server, because otherwise a queue that fills the memory could never be
// emptied.
const (
	Adds   = "#!lua\n" // refused by a full server
	Writes = "#!lua flags=allow-oom\n"
	Reads  = "#!lua flags=no-writes,allow-oom\n"
)

// Script is a Lua script, which a server knows by its hash after the first run.
type Script struct{ source, sha string }

// NewScript returns the script scripts/NAME.lua of files. kind is Adds, Writes
// or Reads.
func NewScript(files embed.FS, kind, name string) *Script {
	body, err := files.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err) // it is in the binary
	}
	source := kind + string(body)
	sum := sha1.Sum([]byte(source)) //nolint:gosec // as above
	return &Script{source: source, sha: hex.EncodeToString(sum[:])}
}

// Run is the keys and arguments of one run of a script.
type Run struct {
	Keys, Args []string
}

// pipelinedRun is one run of a script in a pipeline.
type pipelinedRun struct {
	script *Script
	run    Run
	asking bool // an ASK reply named the server
}

// command returns the command for e: by hash if the server knows the script,
// otherwise with the source.
func (r pipelinedRun) command(b rueidis.Builder, known bool) rueidis.Completed {
	keys, args := r.run.Keys, r.run.Args
	if known {
		return b.Evalsha().Sha1(r.script.sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
	}
	return b.Eval().Script(r.script.source).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
}

// execute sends all in one pipeline, followed by the commands that last
// returns; last may be nil. If a server did not know some scripts, they are
// sent again with their source, and last again after them.
func execute(ctx context.Context, c rueidis.CoreClient, all []pipelinedRun, last func(rueidis.Builder) rueidis.Commands) (results, tail []rueidis.RedisResult) {
	results = make([]rueidis.RedisResult, len(all))
	open := make([]int, len(all))
	for i := range all {
		open[i] = i
	}
	for _, known := range []bool{true, false} {
		var commands rueidis.Commands
		at := make([]int, len(open)) // the index in commands of each of open
		for n, i := range open {
			if all[i].asking {
				commands = append(commands, c.B().Asking().Build())
			}
			at[n], commands = len(commands), append(commands, all[i].command(c.B(), known))
		}
		end := len(commands)
		if last != nil {
			commands = append(commands, last(c.B())...)
		}
		replies := c.DoMulti(ctx, commands...)
		tail = replies[end:]
		var unknown []int
		for n, i := range open {
			results[i] = replies[at[n]]
			if err := results[i].Error(); err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
				unknown = append(unknown, i)
			}
		}
		if open = unknown; len(open) == 0 {
			break
		}
	}
	return results, tail
}

// Do sends runs of s in one pipeline, once.
func (s *Script) Do(ctx context.Context, c rueidis.CoreClient, runs []Run) []rueidis.RedisResult {
	all := make([]pipelinedRun, len(runs))
	for i, r := range runs {
		all[i] = pipelinedRun{script: s, run: r}
	}
	results, _ := execute(ctx, c, all, nil)
	return results
}

// The scripts of this package, where put exists twice: putMore creates records.
var (
	putMore = NewScript(sources, Adds, "put")
	putOn   = NewScript(sources, Writes, "put")
	seal    = NewScript(sources, Writes, "seal")
	mend    = NewScript(sources, Writes, "mend")
)

// MaxReads is the largest number of records that one run of a script reads.
const MaxReads = 100

// Group divides list into groups that one call can touch: in a Cluster, each
// group lies in one slot. For each group it also returns the indexes of its
// elements in list.
func Group[T any](cluster bool, list []T, shardOf func(T) *keyspace.Shard) (parts [][]T, places [][]int) {
	open := map[uint16]int{}
	for i, one := range list {
		slot := uint16(0)
		if cluster {
			slot = shardOf(one).Slot
		}
		at, ok := open[slot]
		if !ok || len(parts[at]) == MaxReads {
			at = len(parts)
			parts, places, open[slot] = append(parts, nil), append(places, nil), at
		}
		parts[at], places[at] = append(parts[at], one), append(places[at], i)
	}
	return parts, places
}

// Repair is a list of commands for the script mend, and the value on which they
// depend.
type Repair struct{ run Run }

// NewRepair returns a repair that runs only if a field of the hash at key
// begins with the expected n bytes. With n = -1 the whole value is compared,
// and expected "" means that there must be no value.
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
