package cli

import (
	"runtime"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/cli/console"
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
func (versionCmd) Run(con *console.Console) error {
	v := versionReply{Version: buildinfo.Version(), Commit: buildinfo.Commit(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if con.JSON {
		return con.Object(v)
	}
	if v.Commit != "" {
		con.Linef("foliot %s (%s, %s, %s)", v.Version, v.Commit, v.Go, v.Platform)
		return nil
	}
	con.Linef("foliot %s (%s, %s)", v.Version, v.Go, v.Platform)
	return nil
}
