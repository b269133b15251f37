package redisstore

import (
	"embed"

	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

//go:embed scripts/*.lua
var sources embed.FS

// The scripts of this package. Each has the name of its file.
var (
	configure    = redisconn.NewScript(sources, redisconn.Writes, "configure")
	readSettings = redisconn.NewScript(sources, redisconn.Reads, "settings")
	fence        = redisconn.NewScript(sources, redisconn.Writes, "fence")
)
