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

func (s *seeder) input(name string) wire.TaskInput {
	return harness.Task(name, s.st.Receiver.URL(), s.due)
}

// bulk creates tasks in batches.
func (s *seeder) bulk(ctx context.Context, count int) {
	tasks := make([]wire.TaskInput, count)
	for i := range tasks {
		tasks[i] = s.input(verify.Numbered{Prefix: "bulk"}.Name(i))
	}
	sent := time.Now()
	harness.Check(s.st.Client.CreateAll(ctx, tasks))
	at := time.Now()
	for i := range tasks {
		harness.Check(s.log.Append(verify.SeededTask{Name: tasks[i].Name, URL: tasks[i].HTTP.URL, Due: s.due, Sent: sent, At: at}))
	}
}

// create creates one task and logs the reply.
func (s *seeder) create(ctx context.Context, i int) {
	in := s.input(verify.Numbered{Prefix: "keep"}.Name(i))
	line := verify.SeededTask{Name: in.Name, URL: in.HTTP.URL, Due: s.due, Sent: time.Now()}
	if ok, _ := s.st.Client.Create(ctx, in); ok { // without an answer, At stays zero
		line.At = time.Now()
	}
	if err := s.log.Append(line); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = err
	}
}

// end returns the contents of the log.
func (s *seeder) end() []verify.SeededTask {
	harness.Check(s.log.Close())
	harness.Check(s.err)
	return harness.OK(journal.Read[verify.SeededTask](s.st.Path("asked")))
}

// readExport reads the lines of an export.
func readExport(path string) (lines []wire.TaskInput, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err // to readJournal a file that is not there is an empty one
	}
	return journal.Read[wire.TaskInput](path)
}
