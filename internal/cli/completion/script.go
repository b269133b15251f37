package completion

import (
	"embed"

	"github.com/foliot/foliot/internal/cli/console"
)

// scripts call `foliot complete` for the completions. bash splits words at =
// and :. Its script joins them for the call, and removes the joined part from
// the completions.
//
//go:embed scripts
var scripts embed.FS

// Script is the command foliot completion.
type Script struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help shows examples below the usage line.
func (Script) Help() string {
	return `Prints a script that completes commands, flags, their values, files and names in a shell. The script calls foliot for the
completions, so it stays valid after an update of foliot. Names of tasks, queues, schedules and namespaces come from the server, if
it answers within a second.

Examples:

    foliot completion bash > /etc/bash_completion.d/foliot
    source <(foliot completion bash)                          (in ~/.bashrc)
    foliot completion zsh > "${fpath[1]}/_foliot"
    foliot completion fish > ~/.config/fish/completions/foliot.fish`
}

// Run prints the script.
func (c *Script) Run(con *console.Console) error {
	script, err := scripts.ReadFile("scripts/foliot." + c.Shell)
	if err == nil {
		_, _ = con.Out.Write(script) // an error means that the reader is gone
	}
	return err
}
