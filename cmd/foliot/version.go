package main

import (
	"runtime"
	"runtime/debug"
)

type versionCmd struct{}

// versionReply is what -o json prints.
type versionReply struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Run prints which build this is.
func (versionCmd) Run(con *console) error {
	v := versionReply{Version: version(), Commit: commit(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if con.json {
		return con.object(v)
	}
	if v.Commit != "" {
		con.sayf("foliot %s (%s, %s, %s)", v.Version, v.Commit, v.Go, v.Platform)
		return nil
	}
	con.sayf("foliot %s (%s, %s)", v.Version, v.Go, v.Platform)
	return nil
}

// version returns the module's version as the Go tool stamped it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// commit returns the first characters of the commit that was built, if it is known.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return ""
}
