package cli

import (
	"runtime"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/cli/console"
)

type versionCmd struct{}

// versionFlag is the flag --version. It runs the command version in place of the
// command that was given.
type versionFlag bool

// BeforeApply is called by kong if the flag is given.
func (versionFlag) BeforeApply(ctx *kong.Context) error {
	if _, err := ctx.Apply(); err != nil { // --output
		return err
	}
	con := console.New(nil, ctx.Stdout, ctx.Stderr, false)
	for _, flag := range ctx.Model.Flags {
		if flag.Name == "output" {
			con.JSON = flag.Target.String() == "json"
		}
	}
	err := versionCmd{}.Run(con)
	if err == nil {
		ctx.Exit(0) // unwinds the parser, as --help does
	}
	return err
}

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
	commit := ""
	if v.Commit != "" {
		commit = v.Commit + ", "
	}
	return con.Resultf(v, "foliot %s (%s%s, %s)", v.Version, commit, v.Go, v.Platform)
}
