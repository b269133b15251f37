package redisstore

import (
	"embed"

	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

//go:embed scripts/*.lua
var sources embed.FS

// The scripts, each named as its file.
var (
	peeking   = redisconn.NewScript(sources, redisconn.Reads, "peek")
	configure = redisconn.NewScript(sources, redisconn.Writes, "configure")
	settings  = redisconn.NewScript(sources, redisconn.Reads, "settings")
	raise     = redisconn.NewScript(sources, redisconn.Writes, "raise")
	walk      = redisconn.NewScript(sources, redisconn.Reads, "walk")
	listing   = redisconn.NewScript(sources, redisconn.Reads, "lanes")
	decide    = redisconn.NewScript(sources, redisconn.Writes, "meta")
	unlog     = redisconn.NewScript(sources, redisconn.Writes, "unlog")
	fence     = redisconn.NewScript(sources, redisconn.Writes, "fence")
)
