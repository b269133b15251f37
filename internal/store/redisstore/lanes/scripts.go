package lanes

import (
	"embed"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

//go:embed scripts/*.lua
var sources embed.FS

// The scripts of this package. Each has the name of its file.
var (
	listing  = redisconn.NewScript(sources, redisconn.Reads, "lanes")
	peeking  = redisconn.NewScript(sources, redisconn.Reads, "peek")
	counting = redisconn.NewScript(sources, redisconn.Reads, "due")
	raise    = redisconn.NewScript(sources, redisconn.Writes, "raise")
)

// errDamaged marks keys and values that this code cannot have written.
var errDamaged = codec.ErrDamaged
