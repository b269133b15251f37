package redisstore

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts so
	_ "embed"
	"encoding/hex"
	"strings"

	"github.com/redis/rueidis"
)

//go:embed scripts/put.lua
var putSource string

//go:embed scripts/get.lua
var getSource string

//go:embed scripts/peek.lua
var peekSource string

//go:embed scripts/idem.lua
var idemSource string

//go:embed scripts/configure.lua
var configureSource string

//go:embed scripts/raise.lua
var raiseSource string

//go:embed scripts/walk.lua
var walkSource string

//go:embed scripts/mend.lua
var mendSource string

//go:embed scripts/own.lua
var ownSource string

//go:embed scripts/beat.lua
var beatSource string

// The scripts. Those that only take back or end what there is may run on a
// server that is full: a queue that cannot be emptied because it is full stays so.
var (
	putMore = newScript("#!lua\n", putSource) // makes new records: refused by a full server
	putOn   = newScript("#!lua flags=allow-oom\n", putSource)
	get     = newScript("#!lua flags=no-writes,allow-oom\n", getSource)
	peek    = newScript("#!lua flags=no-writes,allow-oom\n", peekSource)
	idem    = newScript("#!lua\n", idemSource)
	edit    = newScript("#!lua flags=allow-oom\n", configureSource)
	raise   = newScript("#!lua flags=allow-oom\n", raiseSource)
	browse  = newScript("#!lua flags=no-writes,allow-oom\n", walkSource)
	mending = newScript("#!lua flags=allow-oom\n", mendSource)
	own     = newScript("#!lua flags=allow-oom\n", ownSource)
	beat    = newScript("#!lua flags=allow-oom\n", beatSource)
)

// script is a Lua script. Servers know it by its hash once they have seen it.
type script struct{ source, sha string }

func newScript(head, body string) *script {
	source := head + body
	sum := sha1.Sum([]byte(source)) //nolint:gosec // as above
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}

// run is one run of a script.
type run struct {
	keys, args []string
}

// do runs the script for each of runs, in one pipeline. Those that a server did
// not know it for are run again with the source.
func (s *script) do(ctx context.Context, c rueidis.CoreClient, runs []run) []rueidis.RedisResult {
	commands := make(rueidis.Commands, len(runs))
	for i, r := range runs {
		commands[i] = c.B().Evalsha().Sha1(s.sha).Numkeys(int64(len(r.keys))).Key(r.keys...).Arg(r.args...).Build()
	}
	results := c.DoMulti(ctx, commands...)
	var unknown []int
	for i, r := range results {
		if err := r.Error(); err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) == 0 {
		return results
	}
	commands = commands[:0]
	for _, i := range unknown {
		commands = append(commands, c.B().Eval().Script(s.source).Numkeys(int64(len(runs[i].keys))).Key(runs[i].keys...).Arg(runs[i].args...).Build())
	}
	for n, r := range c.DoMulti(ctx, commands...) {
		results[unknown[n]] = r
	}
	return results
}
