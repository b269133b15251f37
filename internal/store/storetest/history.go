package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// historyCases: parts are kept as they were written last, and each change counts once.
var historyCases = []testCase{
	{
		"parts replace those with the same span and writer",
		"A repeated write counts nothing twice, and the parts of other spans and processes stay.",
		func(f *fixture) {
			const hour = task.Millis(history.Hour / time.Millisecond)
			first, present := start-start%hour-hour, start-start%60_000
			put := func(parts ...history.Part) {
				if err := f.store.Remember(f.Context(), start, parts); err != nil {
					f.Fatal(err)
				}
			}
			put(history.Part{At: present, Writer: "a.0", Data: []byte("old")}, history.Part{At: present - 60_000, Writer: "a.0", Data: []byte("1")})
			put(history.Part{At: present, Writer: "a.0", Data: []byte{0, 255}}, history.Part{At: present, Writer: "b.0", Data: []byte("2")})
			put(history.Part{Hour: true, At: first, Data: []byte("h")}, history.Part{Hour: true, At: first - 24*hour, Data: []byte("g")})
			for want, read := range map[string]struct {
				hours       bool
				from, until task.Millis
			}{
				fmt.Sprint(present-60_000, " a.0 [49] ", present, " a.0 [0 255] ", present, " b.0 [50]"): {false, present - 60_000, present + 1},
				fmt.Sprint(present-60_000, " a.0 [49]"):                                                  {false, 0, present},
				fmt.Sprint(first-24*hour, "  [103] ", first, "  [104]"):                                  {true, first - 24*hour, start},
				fmt.Sprint(first, "  [104]"):                                                             {true, first - 24*hour + 1, start},
			} {
				found, err := f.store.History(f.Context(), read.hours, max(read.from, start-30*24*hour), read.until)
				if err != nil {
					f.Fatal(err)
				}
				var texts []string
				for _, p := range found {
					texts = append(texts, fmt.Sprintf("%d %s %d", p.At, p.Writer, p.Data))
				}
				slices.Sort(texts)
				if got := strings.Join(texts, " "); got != want {
					f.Errorf("found %s, want %s", got, want)
				}
			}
		},
	},
	{
		"each create and each cancel counts once",
		"Repeats, refusals and other changes count nothing.",
		func(f *fixture) {
			r := history.New("p")
			defer f.store.Watch(store.Watcher{Wrote: func(old, t *task.Task) { r.Wrote(func() task.Millis { return start }, old, t) }})()
			f.create("a")
			f.create("b", queue("q"))
			f.apply(start, task.Create{Spec: f.spec("a")}) // exists
			f.must(start, task.Cancel{Key: tasktest.Key("a")})
			f.apply(start, task.Cancel{Key: tasktest.Key("a")})
			f.must(start, task.Patch{Key: tasktest.Key("b"), When: &task.When{At: start + 20}})
			if err := r.Flush(f.Context(), f.store, start); err != nil {
				f.Fatal(err)
			}
			sum, err := history.Read(f.Context(), f.store, history.Query{From: start - start%60_000, Until: start + 1, Step: time.Minute})
			if err != nil || len(sum.Steps) != 1 {
				f.Fatalf("%+v, %v", sum, err)
			}
			of := func(q string) *history.Figures {
				return sum.Queues[task.QueueKey{Namespace: task.DefaultNamespace, Queue: q}]
			}
			if d, q := of(task.DefaultQueue), of("q"); d == nil || q == nil || d[history.Created] != 1 || d[history.Cancelled] != 1 || q[history.Created] != 1 || q[history.Cancelled] != 0 {
				f.Errorf("default %v, q %v", d, q)
			}
		},
	},
}
