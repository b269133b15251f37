package completion

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/contexts"
)

const (
	// patience bounds the time of a lookup, because the shell waits for it.
	patience = time.Second
	// maxNames bounds the names of a lookup. More letters select fewer.
	maxNames = 100
)

// namesOf returns the names of records of a kind that begin with the typed text.
// It returns those that it finds in time, and none after an error: a shell has
// no place for a message.
func namesOf(ctx context.Context, server *connect.Flags, kind, typed string) []Candidate {
	if kind == "context" {
		return contextNames()
	}
	api, err := server.Client()
	if err != nil {
		return nil
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch kind {
	case "task":
		return taskNames(ctx, api, typed)
	case "queue":
		return collect(api.Queues.List(ctx), typed, func(q *client.Queue) Candidate { return Candidate{q.Name, ""} })
	case "schedule":
		return collect(api.Schedules.List(ctx, client.ScheduleQuery{}), typed, func(s *client.Schedule) Candidate { return Candidate{s.Name, ""} })
	case "namespace":
		return collect(api.Namespaces.List(ctx), typed, func(n *client.Namespace) Candidate { return Candidate{n.Name, ""} })
	}
	return nil
}

func contextNames() []Candidate {
	file, err := contexts.Read()
	if err != nil {
		return nil
	}
	list := []Candidate{{contexts.None, ""}}
	for _, name := range file.Names() {
		list = append(list, Candidate{name, file.Contexts[name].Server})
	}
	return list
}

// taskNames returns one page of tasks: the tasks that have not ended, or others
// if there are none of these.
func taskNames(ctx context.Context, api *client.Client, typed string) []Candidate {
	query := client.Query{Filter: client.Filter{Prefix: typed, States: []client.State{client.Scheduled, client.Running}}, PageSize: maxNames}
	page, err := api.Tasks.Page(ctx, query, "")
	if err == nil && len(page.Tasks) == 0 {
		query.States = nil
		page, err = api.Tasks.Page(ctx, query, "")
	}
	if err != nil {
		return nil
	}
	var list []Candidate
	for _, t := range page.Tasks {
		list = append(list, Candidate{t.Name, string(t.State)})
	}
	return list
}

// collect returns the first names of a list that begin with the typed text.
func collect[T any](items iter.Seq2[T, error], typed string, candidate func(T) Candidate) []Candidate {
	var list []Candidate
	for item, err := range items {
		if err != nil || len(list) == maxNames {
			break
		}
		if c := candidate(item); strings.HasPrefix(c.Text, typed) {
			list = append(list, c)
		}
	}
	return list
}
