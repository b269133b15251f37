package kernel

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// shelves is a medium of some parts, with the naive forms of all queries. Its bounds
// of lanes can be too low.
type shelves struct {
	parts, batch int
	tasks        []*task.Task
	low          map[Head]task.Millis // by lane and part; no position
	calls        int
}

func (m *shelves) part(t *task.Task) int { return len(t.Name) * int(t.Name[len(t.Name)-1]) % m.parts }
func (m *shelves) Parts() int            { return m.parts }
func (m *shelves) Batch() int            { return m.batch }

func (m *shelves) Scan(_ context.Context, ranges []Range) ([][]string, error) {
	m.calls++
	all := make([][]string, len(ranges))
	for i, r := range ranges {
		for _, t := range m.tasks {
			if place, ok := placeIn(t, r); ok && m.part(t) == r.Part && place >= r.From && (r.To == "" || place < r.To) {
				all[i] = append(all[i], place)
			}
		}
		slices.Sort(all[i])
		all[i] = all[i][:min(r.Limit, len(all[i]))]
	}
	return all, nil
}

func placeIn(t *task.Task, r Range) (string, bool) {
	if r.Index == ByName {
		return t.Name, t.Namespace == r.Lane.Namespace
	}
	for _, e := range EntriesOf(t) {
		switch {
		case e.Index != r.Index:
		case e.Index == ByDue:
			return DuePlace(task.Position{Due: t.Due, Name: t.Name}), t.Lane() == r.Lane
		default:
			return t.EndedPlace(), t.Namespace == r.Lane.Namespace
		}
	}
	return "", false
}

func (m *shelves) Records(_ context.Context, keys []task.Key, f *task.Filter, _ bool) ([]*task.Task, error) {
	m.calls++
	var found []*task.Task
	for _, key := range keys {
		i := slices.IndexFunc(m.tasks, func(t *task.Task) bool { return t.Key() == key && (len(keys)%2 == 0 || f.Match(t)) })
		if i < 0 {
			found = append(found, nil)
		} else {
			found = append(found, m.tasks[i])
		}
		if len(found) == 7 && m.batch == 1 {
			break
		}
	}
	return found, nil
}

func (m *shelves) Lanes(_ context.Context, r LaneRead) (Lanes, error) {
	m.calls++
	l := Lanes{End: math.MaxInt64}
	for h, low := range m.low {
		if low <= r.Until && (r.Namespace == "" || r.Namespace == h.Namespace) && r.Selects(h.Lane) {
			h.Low.Due = low
			l.Heads = append(l.Heads, h)
		}
	}
	slices.SortFunc(l.Heads, func(a, b Head) int {
		return cmp.Or(cmp.Compare(a.Low.Due, b.Low.Due), cmp.Compare(a.Part, b.Part), cmp.Compare(fmt.Sprint(a.Lane), fmt.Sprint(b.Lane)))
	})
	if most := min(r.Limit, 6); len(l.Heads) > most && r.Limit < maxLanes {
		l.End, l.Heads = l.Heads[most].Low.Due, l.Heads[:most]
	}
	l.Examined = len(l.Heads)
	return l, nil
}

func (m *shelves) Count(ctx context.Context, ranges []Range, r *store.DueRead, found store.DueFound) (all []Counted, err error) {
	for _, in := range ranges {
		c := Counted{Cost: SeekCost}
		limit := in.Limit
		in.Limit = math.MaxInt
		places, _ := m.Scan(ctx, []Range{in})
		for _, place := range places[0] {
			due := Position(place).Due
			if due >= r.End() {
				break
			}
			if m.batch == 1 && c.Cost-SeekCost == limit {
				c.Next = place
				break
			}
			c.Cost++
			found(in.Lane, r.Interval(due), 1)
		}
		all = append(all, c)
	}
	return all, nil
}

// drawShelves returns a medium with some tasks in each state.
func drawShelves(t *rapid.T) *shelves {
	m := &shelves{parts: rapid.IntRange(1, 5).Draw(t, "parts"), batch: rapid.SampledFrom([]int{1, 3, 64}).Draw(t, "batch"), low: map[Head]task.Millis{}}
	for i := range rapid.IntRange(0, 60).Draw(t, "tasks") {
		x := &task.Task{
			Namespace: rapid.SampledFrom([]string{"a", "ab"}).Draw(t, "namespace"), Name: fmt.Sprintf("t%02d", i),
			Queue: rapid.SampledFrom([]string{"q", "r", task.ScheduleQueue}).Draw(t, "queue"),
			State: rapid.SampledFrom([]task.State{task.Scheduled, task.Scheduled, task.Scheduled, task.Running, task.Delivered, task.Dead}).Draw(t, "state"),
			Due:   task.Millis(rapid.IntRange(-3, 12).Draw(t, "due")),
		}
		x.Request.Destination = rapid.SampledFrom([]string{"h", "i", "j", "k", "l"}).Draw(t, "host")
		switch x.State {
		case task.Scheduled:
		case task.Running:
			x.Lease = &task.Lease{}
		default:
			x.FinishedAt, x.KeepUntil = x.Due, task.Millis(rapid.IntRange(0, 9).Draw(t, "keep"))
		}
		m.tasks = append(m.tasks, x)
		if h := (Head{Lane: x.Lane(), Part: m.part(x)}); x.State == task.Scheduled {
			low := x.Due - task.Millis(rapid.IntRange(0, 4).Draw(t, "too low"))
			if other, ok := m.low[h]; !ok || low < other {
				m.low[h] = low
			}
		}
	}
	for range rapid.IntRange(0, 4).Draw(t, "empty lanes") {
		m.low[Head{Lane: task.Lane{Namespace: "a", Queue: "q", Destination: fmt.Sprint(len(m.low))}}] = task.Millis(rapid.IntRange(-3, 5).Draw(t, "low"))
	}
	return m
}

// sorted returns the tasks for which place returns one, in the order of the places.
func (m *shelves) sorted(place func(*task.Task) string) (all []*task.Task) {
	for _, t := range m.tasks {
		if place(t) != "" {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *task.Task) int { return cmp.Compare(place(a), place(b)) })
	return all
}

// The pages of a list are all tasks that match, in order, for any medium.
func TestPagesOfAListAreWhatSortingAllRecordsGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawShelves(t)
		f := task.Filter{Namespace: "a", Queue: rapid.SampledFrom([]string{"", "q"}).Draw(t, "queue")}
		page := task.Page{Limit: rapid.IntRange(1, 20).Draw(t, "limit")}
		place := func(x *task.Task) string { return x.Name }
		list := func() (task.Listing, error) { return List(t.Context(), m, f, page) }
		if rapid.Bool().Draw(t, "ended") {
			now := task.Millis(4)
			f.States = rapid.SampledFrom([][]task.State{{task.Dead}, {task.Delivered}, {task.Delivered, task.Dead}}).Draw(t, "states")
			place = func(x *task.Task) string {
				if x.State.Live() || x.KeepUntil <= now {
					return ""
				}
				return x.EndedPlace()
			}
			page.ByEnd = now
		}
		want := slices.DeleteFunc(m.sorted(place), func(x *task.Task) bool { return !f.Match(x) })
		for {
			l, err := list()
			n := min(len(want), page.Limit)
			if err != nil || len(l.Tasks) != n {
				t.Fatalf("%d tasks, want %d, error %v", len(l.Tasks), n, err)
			}
			for i, x := range l.Tasks {
				if x.Name != want[i].Name {
					t.Fatalf("task %d is %s, want %s", i, x.Name, want[i].Name)
				}
			}
			want = want[n:]
			if page.After = l.Next; page.After == "" {
				break
			}
		}
		if len(want) > 0 {
			t.Fatalf("%d tasks are missing", len(want))
		}
	})
}

// A page of upcoming records has the first ones, for any bounds of the lanes.
func TestUpcomingReturnsTheFirstRecordsOfAllLanes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawShelves(t)
		read := store.UpcomingRead{
			Namespace: rapid.SampledFrom([]string{"", "a"}).Draw(t, "namespace"), From: task.Millis(rapid.IntRange(-4, 6).Draw(t, "from")),
			Until: task.Millis(rapid.IntRange(0, 14).Draw(t, "until")), Limit: rapid.IntRange(1, 30).Draw(t, "limit"),
		}
		want := m.sorted(func(x *task.Task) string {
			if x.State != task.Scheduled || x.Due < read.From || x.Due > read.Until || !read.Selects(x.Lane()) {
				return ""
			}
			return DuePlace(task.Position{Due: x.Due})
		})
		got, err := Upcoming(t.Context(), m, read)
		if n := min(len(want), read.Limit); err != nil || len(got.Tasks) != n || got.More != (len(want) > n) {
			t.Fatalf("%d records, more %v, want %d of %d, error %v", len(got.Tasks), got.More, n, len(want), err)
		}
		for i, x := range got.Tasks {
			if x.Due != want[i].Due || slices.ContainsFunc(got.Tasks[:i], func(y *task.Task) bool { return y.Key() == x.Key() }) {
				t.Fatalf("record %d is %s, due at %d, want %d", i, x.Name, x.Due, want[i].Due)
			}
		}
		if got.More && got.Until > want[len(got.Tasks)].Due {
			t.Fatalf("the page claims all records before %d", got.Until)
		}
	})
}

// Due counts each task once, and none twice, before the time that it returns.
func TestDueCountsEachTaskBeforeTheTimeThatItReturns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawShelves(t)
		read := store.DueRead{Namespace: rapid.SampledFrom([]string{"", "a"}).Draw(t, "namespace"), Bounds: []task.Millis{0, 3, 4, 9}, Budget: rapid.SampledFrom([]int{1, 40, 200, 1_000_000}).Draw(t, "budget")}
		type count struct {
			task.Lane
			interval int
		}
		got := map[count]int{}
		most := int64(math.MaxInt64)
		if rapid.Bool().Draw(t, "known") {
			most = int64(len(m.tasks))
		}
		exact, err := Due(t.Context(), m, read, most, func(l task.Lane, interval, n int) { got[count{l, interval}] += n })
		if err != nil || exact > read.End() || read.Budget == 1_000_000 && len(m.low) <= 6 && exact != read.End() {
			t.Fatalf("exact until %d, error %v", exact, err)
		}
		all, early := map[count]int{}, map[count]int{}
		for _, x := range m.tasks {
			if x.State != task.Scheduled || x.Due >= read.End() || !read.Selects(x.Lane()) {
				continue
			}
			c := count{x.Lane(), read.Interval(x.Due)}
			if all[c]++; x.Due < exact {
				early[c]++
			}
		}
		for c, n := range all {
			if got[c] > n || got[c] < early[c] {
				t.Fatalf("%+v has %d, want %d to %d", c, got[c], early[c], n)
			}
			delete(got, c)
		}
		if len(got) > 0 {
			t.Fatalf("counted: %v", got)
		}
	})
}

// A round trip is for many ranges, so a query of a medium with many parts and lanes
// makes few calls.
func TestAQueryOfManyPartsMakesFewCalls(t *testing.T) {
	m := &shelves{parts: 64, batch: 64, low: map[Head]task.Millis{}}
	for i := range 2000 {
		x := &task.Task{Namespace: "a", Queue: "q", Name: fmt.Sprintf("t%0*d", 4+i%7, i), State: task.Scheduled, Due: task.Millis(i * 7919 % 2000)}
		x.Request.Destination = fmt.Sprint(i % 5)
		m.tasks = append(m.tasks, x)
		h := Head{Lane: x.Lane(), Part: m.part(x)}
		if low, ok := m.low[h]; !ok || x.Due < low {
			m.low[h] = x.Due
		}
	}
	for name, most := range map[string]int{"list": 4, "upcoming": 12} {
		m.calls = 0
		var n int
		if name == "list" {
			l, _ := List(t.Context(), m, task.Filter{Namespace: "a"}, task.Page{Limit: 100})
			n = len(l.Tasks)
		} else {
			u, _ := Upcoming(t.Context(), m, store.UpcomingRead{Until: task.Never, Limit: 100})
			n = len(u.Tasks)
		}
		if n != 100 || m.calls > most {
			t.Errorf("%s: %d records in %d calls", name, n, m.calls)
		}
	}
}

// One lane has most tasks, and another many early ones: the budget is for both.
func TestABudgetIsSharedByTheLanes(t *testing.T) {
	const tasks, budget = 4000, 1600
	m := &shelves{parts: 1, batch: 1, low: map[Head]task.Millis{}}
	for i := range tasks {
		x := &task.Task{Namespace: "a", Queue: "q", Name: fmt.Sprintf("t%04d", i), State: task.Scheduled, Due: task.Millis(i * 7919 % 86_400)}
		x.Request.Destination = fmt.Sprint(i % (1 + i*6/tasks))
		m.tasks = append(m.tasks, x)
		m.low[Head{Lane: x.Lane()}] = 0
	}
	for _, c := range []struct{ budget, least, most int }{{budget, budget / 2, 2 * budget}, {100 * tasks, tasks, tasks}} {
		n, read := 0, store.DueRead{Bounds: []task.Millis{86_400}, Budget: c.budget}
		exact, err := Due(t.Context(), m, read, math.MaxInt64, func(_ task.Lane, _, found int) { n += found })
		if err != nil || n < c.least || n > c.most || exact <= 0 || (exact == read.End()) != (n == tasks) {
			t.Errorf("with the budget %d %d tasks were counted, all until %d, error %v", c.budget, n, exact, err)
		}
	}
}
