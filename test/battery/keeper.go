package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness/journal"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// keeper creates tasks that nobody delivers before a backup is judged.
type keeper struct {
	st  *stage
	log *journal.Journal
	due time.Time

	mu  sync.Mutex // guards err
	err error      // of the log: the first
}

// keep prepares a keeper, whose log end closes.
func (st *stage) keep() (*keeper, error) {
	log, err := journal.Open(st.path("asked"))
	return &keeper{st: st, log: log, due: timing.DueIn(24 * time.Hour)}, err
}

func (k *keeper) input(name string) wire.TaskInput { return input(name, k.st.receiver.URL(), k.due) }

// bulk creates tasks in batches.
func (k *keeper) bulk(ctx context.Context, count int) error {
	tasks := make([]wire.TaskInput, count)
	for i := range tasks {
		tasks[i] = k.input(verify.Numbered{Prefix: "bulk"}.Name(i))
	}
	sent := time.Now()
	if err := k.st.client.createAll(ctx, tasks); err != nil {
		return err
	}
	at := time.Now()
	return timing.InParallel(count, 64, func(i int) error {
		return k.log.Append(verify.SeededTask{Name: tasks[i].Name, URL: tasks[i].HTTP.URL, Due: k.due, Sent: sent, At: at})
	})
}

// create makes one task and writes down what came of it.
func (k *keeper) create(ctx context.Context, i int) {
	in := k.input(verify.Numbered{Prefix: "keep"}.Name(i))
	line := verify.SeededTask{Name: in.Name, URL: in.HTTP.URL, Due: k.due, Sent: time.Now()}
	if ok, _ := k.st.client.create(ctx, in); ok { // no answer is an answer too: At stays zero
		line.At = time.Now()
	}
	if err := k.log.Append(line); err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.err = err
	}
}

// end returns what the log says.
func (k *keeper) end() ([]verify.SeededTask, error) {
	if err := k.log.Close(); err != nil {
		return nil, err
	}
	if k.err != nil {
		return nil, k.err
	}
	return journal.Read[verify.SeededTask](k.st.path("asked"))
}

// foliot runs a command of the binary and reads what it prints as JSON into
// out, unless that is nil.
func (st *stage) foliot(ctx context.Context, out any, args ...string) error {
	cmd := exec.CommandContext(ctx, st.server.binary, append(args, "-o", "json")...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("foliot %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(stdout.Bytes(), out); err != nil {
		return fmt.Errorf("foliot %s printed %q: %w", args[0], stdout.String(), err)
	}
	return nil
}

// readExport reads the lines of an export.
func readExport(path string) (lines []wire.TaskInput, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err // to readJournal a file that is not there is an empty one
	}
	return journal.Read[wire.TaskInput](path)
}
