package registry

import (
	"embed"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

//go:embed scripts/*.lua
var sources embed.FS

// The scripts of this package, each with the name of its file.
var (
	own   = redisconn.NewScript(sources, redisconn.Writes, "own")
	beat  = redisconn.NewScript(sources, redisconn.Writes, "beat")
	drain = redisconn.NewScript(sources, redisconn.Writes, "drain")
)

// errDamaged marks keys and values that this code cannot have written.
var errDamaged = codec.ErrDamaged
