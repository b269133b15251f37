package redisstore

import (
	"embed"

	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

//go:embed scripts/*.lua
var sources embed.FS

// The scripts, each named as its file.
var (
	configure = redisconn.NewScript(sources, redisconn.Writes, "configure")
	settings  = redisconn.NewScript(sources, redisconn.Reads, "settings")
	fence     = redisconn.NewScript(sources, redisconn.Writes, "fence")
)
