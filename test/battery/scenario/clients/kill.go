package clients

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/journal"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	crowd    = 64                     // creates that begin together, so that most travel in batches
	every    = 64 * time.Millisecond  // time between crowds
	dueSoon  = 2 * time.Second        // tasks are due after this time
	killWait = 700 * time.Millisecond // a server lives at most this long
)

// result is a line of the log of results: the reply of the client for a task.
type result struct {
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`  // empty: the create failed
	Not  bool   `json:"not,omitempty"` // the error says that the task was not created
	Text string `json:"text,omitempty"`
}

// Kill: kill -9 of the server at random moments, while crowds of goroutines
// create tasks with one client. Each result must be true: a task that was
// returned arrives once under the returned id, and a task that an error declares
// not created does not arrive.
func Kill(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironment(ctx)
	api := harness.OK(client.New(st.Server.URL(), client.Options{Retry: client.RetryPolicy{Attempts: 8}}))
	t.Cleanup(api.Close)
	log := harness.OK(journal.Open(st.Path("results")))
	t.Cleanup(func() { harness.Check(log.Close()) })
	creating, quit := context.WithCancel(ctx)
	defer quit()
	load := timing.InBackground(creating, func(ctx context.Context) { createCrowds(ctx, st, api, log) })
	for i := range t.Options.Kills {
		harness.Pause(ctx, time.Duration(t.Rand.Int64N(int64(killWait))))
		st.Kill(st.Server)
		harness.Check(st.Server.Start())
		harness.OK(st.Server.Ready(ctx, 20*time.Second))
		if (i+1)%20 == 0 {
			t.Note("killed %d times", i+1)
		}
	}
	load()
	v := st.Conclude(ctx, harness.Phases{Drain: time.Minute, Quiet: 2 * time.Second, Stop: 25 * time.Second})
	judge(t, v, harness.OK(journal.Read[result](st.Path("results"))), st.Evidence().Arrived)
}

// createCrowds creates tasks until ctx ends, and waits for all results.
func createCrowds(ctx context.Context, st *harness.Environment, api *client.Client, log *journal.Journal) {
	var calls sync.WaitGroup
	defer calls.Wait()
	for n := 0; ctx.Err() == nil; n += crowd {
		for i := range crowd {
			calls.Go(func() { createOne(context.WithoutCancel(ctx), st, api, log, fmt.Sprintf("crowd-%d", n+i)) })
		}
		timing.Pause(ctx, every)
	}
}

func createOne(ctx context.Context, st *harness.Environment, api *client.Client, log *journal.Journal, name string) {
	due := timing.DueIn(dueSoon)
	t, err := api.Tasks.Create(ctx, client.Spec{Name: name, At: due, HTTP: client.HTTP{URL: st.Receiver.URL()}})
	r := result{Name: name}
	if err == nil {
		r.ID = t.ID
		err = st.Promised(name, due)
	}
	if err != nil {
		r.Not, r.Text = !client.MaybeApplied(err), err.Error()
	}
	_ = log.Append(r) // a result that is missing shows in the counts
}

// judge compares the results with the arrivals.
func judge(t *harness.Run, v verify.Verdict, results []result, arrived []verify.Arrived) {
	ids := map[string]string{}
	for _, a := range arrived {
		ids[a.Name] = a.ID
	}
	var failed, otherID, notCreated []string
	returned := 0
	for _, r := range results {
		id, came := ids[r.Name]
		switch {
		case r.ID != "" && came && id != r.ID:
			otherID = append(otherID, r.Name)
		case r.Not && came:
			notCreated = append(notCreated, r.Name+": "+r.Text)
		}
		if r.ID == "" {
			failed = append(failed, r.Name+": "+r.Text)
		} else {
			returned++
		}
	}
	t.Note("kills %d, results %d, of them tasks %d, errors %d%s", v.Faults, len(results), returned, len(failed), verify.Examples(failed))
	t.Must(returned == v.Accepted, "returned %d, accepted %d", returned, v.Accepted)
	t.Must(len(otherID) == 0, "tasks that arrived under another id than the returned one %d%s", len(otherID), verify.Examples(otherID))
	t.Must(len(notCreated) == 0, "tasks that arrived although the error said that they were not created %d%s", len(notCreated), verify.Examples(notCreated))
	t.Must(v.MostPerFault <= harness.MaxInFlight, "duplicates %d, by one kill at most %d; in flight at most %d", v.Duplicates, v.MostPerFault, harness.MaxInFlight)
}
