package redisstore

import "embed"

//go:embed scripts/*.lua
var sources embed.FS

// The scripts, each named as its file.
var (
	get       = newScript(sources, reads, "get")
	peek      = newScript(sources, reads, "peek")
	idem      = newScript(sources, adds, "idem")
	configure = newScript(sources, goes, "configure")
	settings  = newScript(sources, reads, "settings")
	raise     = newScript(sources, goes, "raise")
	walk      = newScript(sources, reads, "walk")
	mend      = newScript(sources, goes, "mend")
	own       = newScript(sources, goes, "own")
	beat      = newScript(sources, goes, "beat")
	drain     = newScript(sources, goes, "drain")
	lanes     = newScript(sources, reads, "lanes")
	decide    = newScript(sources, goes, "meta")
	unlog     = newScript(sources, goes, "unlog")
	fence     = newScript(sources, goes, "fence")
)
