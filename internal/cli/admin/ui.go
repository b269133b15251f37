package admin

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"

	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
)

// UI is the command foliot ui.
type UI struct {
	Print bool `help:"Print the URL, and open no browser."`
}

func (UI) Help() string {
	return "Opens the web page of a server in a browser. If the server has tokens, the page asks for one."
}

// pageReply is the output of -o json.
type pageReply struct {
	URL string `json:"url"`
}

func (c UI) Run(ctx context.Context, con *console.Console, server *connect.Flags) error {
	target, err := server.Target()
	if err != nil {
		return err
	}
	page := target.Page()
	if con.JSON {
		return con.Object(pageReply{page})
	}
	con.Linef("%s", page)
	if c.Print {
		return nil
	}
	if err := Browse(page); err != nil {
		con.Notef("cannot open a browser: %v; open the URL in a browser", err)
	}
	return nil
}

// Browse opens a URL in the browser of the user. It does not wait for its end.
func Browse(url string) error {
	command := []string{"xdg-open", url}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", url}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", url}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("this machine has no display")
		}
	}
	started := exec.Command(command[0], command[1:]...)
	if err := started.Start(); err != nil {
		return err
	}
	return started.Process.Release()
}
