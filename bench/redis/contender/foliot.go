package contender

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/foliot/foliot/client"
)

// openFoliot starts the built server.
func openFoliot(ctx context.Context, redis string, e *Environment) (*Running, error) {
	cmd := exec.Command(e.Foliot, "serve", "-o", "json", "--listen", "127.0.0.1:0", "--store", "redis://"+redis)
	said := new(bytes.Buffer)
	cmd.Stderr = said // read only after the process has ended
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", e.Foliot, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // it may have ended
	end := func() error {
		defer stop()
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		return ended(cmd.Wait(), said)
	}
	var reply struct {
		URL string `json:"url"`
	}
	if err := json.NewDecoder(out).Decode(&reply); err != nil {
		_ = cmd.Process.Kill() // it may have ended
		return nil, fmt.Errorf("read the address of the server: %w: %w", err, end())
	}
	api, err := client.New(reply.URL, client.Options{HTTPClient: newHTTP()})
	if err != nil {
		_ = end() // the first error is the cause
		return nil, err
	}
	return &Running{
		PID:    cmd.Process.Pid,
		Create: func(ctx context.Context, w *Work, from, to int) error { return createByHTTP(ctx, api, w, from, to) },
		Close:  func() error { api.Close(); return end() },
	}, nil
}

// ended returns an error with the last line of the server's output if the
// server ended with an error.
func ended(err error, said *bytes.Buffer) error {
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	return fmt.Errorf("the server ended with %w: %s", err, lines[len(lines)-1])
}

func createByHTTP(ctx context.Context, api *client.Client, w *Work, from, to int) error {
	body := client.JSON(json.RawMessage(w.Body()))
	spec := func(i int) client.Spec {
		return client.Spec{Name: w.Name(i), At: w.Due(i), HTTP: client.HTTP{URL: w.Target(i), Body: body}}
	}
	if to-from == 1 {
		_, err := api.Tasks.Create(ctx, spec(from))
		return err
	}
	specs := make([]client.Spec, 0, to-from)
	for i := from; i < to; i++ {
		specs = append(specs, spec(i))
	}
	results, err := api.Tasks.CreateMany(ctx, specs)
	if err != nil {
		return err
	}
	for i, r := range results {
		if r.Err != nil {
			return fmt.Errorf("create %s: %w", specs[i].Name, r.Err)
		}
	}
	return nil
}

// newHTTP returns a client that keeps its connections.
func newHTTP() *http.Client {
	return &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, IdleConnTimeout: time.Minute},
	}
}
