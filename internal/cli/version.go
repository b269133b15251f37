package cli

import (
	"fmt"
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

// thisVersion returns the version of this build.
func thisVersion() versionReply {
	return versionReply{Version: buildinfo.Version(), Commit: buildinfo.Commit(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
}

// Run prints the version of this build.
func (versionCmd) Run(con *console.Console) error {
	return con.Resultf(thisVersion(), "%s", thisVersion())
}

// String returns the version as the flag --version prints it.
func (v versionReply) String() string {
	commit := ""
	if v.Commit != "" {
		commit = v.Commit + ", "
	}
	return fmt.Sprintf("foliot %s (%s%s, %s)", v.Version, commit, v.Go, v.Platform)
}
