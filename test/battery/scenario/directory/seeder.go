package directory

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/journal"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// seeder creates tasks that are due only after a backup is judged.
type seeder struct {
	st  *harness.Environment
	log *journal.Journal
	due time.Time

	mu  sync.Mutex // guards err
	err error      // of the log: the first
}

// newSeeder prepares a seeder. end closes its log.
func newSeeder(st *harness.Environment) *seeder {
	log := harness.OK(journal.Open(st.Path("asked")))
	return &seeder{st: st, log: log, due: timing.DueIn(24 * time.Hour)}
}

func (k *seeder) input(name string) wire.TaskInput {
	return harness.Task(name, k.st.Receiver.URL(), k.due)
}

// bulk creates tasks in batches.
func (k *seeder) bulk(ctx context.Context, count int) {
	tasks := make([]wire.TaskInput, count)
	for i := range tasks {
		tasks[i] = k.input(verify.Numbered{Prefix: "bulk"}.Name(i))
	}
	sent := time.Now()
	harness.Check(k.st.Client.CreateAll(ctx, tasks))
	at := time.Now()
	harness.Check(timing.InParallel(count, 64, func(i int) error {
		return k.log.Append(verify.SeededTask{Name: tasks[i].Name, URL: tasks[i].HTTP.URL, Due: k.due, Sent: sent, At: at})
	}))
}

// create creates one task and logs the reply.
func (k *seeder) create(ctx context.Context, i int) {
	in := k.input(verify.Numbered{Prefix: "keep"}.Name(i))
	line := verify.SeededTask{Name: in.Name, URL: in.HTTP.URL, Due: k.due, Sent: time.Now()}
	if ok, _ := k.st.Client.Create(ctx, in); ok { // without an answer, At stays zero
		line.At = time.Now()
	}
	if err := k.log.Append(line); err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.err = err
	}
}

// end returns the contents of the log.
func (k *seeder) end() []verify.SeededTask {
	harness.Check(k.log.Close())
	harness.Check(k.err)
	return harness.OK(journal.Read[verify.SeededTask](k.st.Path("asked")))
}

// readExport reads the lines of an export.
func readExport(path string) (lines []wire.TaskInput, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err // to readJournal a file that is not there is an empty one
	}
	return journal.Read[wire.TaskInput](path)
}
