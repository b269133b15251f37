package redisconn

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts so
	"embed"
	"encoding/hex"
	"strings"

	"github.com/redis/rueidis"
)

//go:embed scripts/*.lua
var sources embed.FS

// The kinds of scripts. A script that only reaps or ends tasks can run on
// a full server. Otherwise a queue that fills the memory could never be
// emptied.
const (
	Adds   = "#!lua\n" // refused by a full server
	Writes = "#!lua flags=allow-oom\n"
	Reads  = "#!lua flags=no-writes,allow-oom\n"
)

// Script is a Lua script. A server knows it by its hash after the first run.
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
func (e pipelinedRun) command(b rueidis.Builder, known bool) rueidis.Completed {
	keys, args := e.run.Keys, e.run.Args
	if known {
		return b.Evalsha().Sha1(e.script.sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
	}
	return b.Eval().Script(e.script.source).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
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

// The scripts of this package. put exists twice: putMore creates records.
var (
	putMore = NewScript(sources, Adds, "put")
	putOn   = NewScript(sources, Writes, "put")
	seal    = NewScript(sources, Writes, "seal")
	mend    = NewScript(sources, Writes, "mend")
)
