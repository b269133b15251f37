package cli

import (
	"runtime"

	"github.com/foliot/foliot/internal/buildinfo"
)

type versionCmd struct{}

// versionReply is the output of -o json.
type versionReply struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Run prints the version of this build.
func (versionCmd) Run(con *console) error {
	v := versionReply{Version: buildinfo.Version(), Commit: buildinfo.Commit(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if con.json {
		return con.object(v)
	}
	if v.Commit != "" {
		con.linef("foliot %s (%s, %s, %s)", v.Version, v.Commit, v.Go, v.Platform)
		return nil
	}
	con.linef("foliot %s (%s, %s)", v.Version, v.Go, v.Platform)
	return nil
}
