package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// List implements store.TaskStore. The reads are not atomic: by end, a task that ends at
// the same time can be missing.
func (s *Store) List(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return task.Listing{}, err
	}
	defer leave()
	l, err := s.listIn(ctx, &f, page, s.ordering(&f, page.ByEnd))
	return l, s.failure(err)
}

// ordering returns the order of a list: by name if byEnd is 0.
func (s *Store) ordering(f *task.Filter, byEnd task.Millis) (in ordering) {
	if byEnd == 0 {
		for _, sh := range s.shards {
			in.keys = append(in.keys, sh.Names)
		}
		in.has = func(*task.Task, string) bool { return true }
		return in
	}
	for _, index := range kernel.EndIndexes(f.States) {
		for _, sh := range s.shards {
			in.keys = append(in.keys, records.EndKey(sh, index))
		}
	}
	in.nameAt, in.has = task.EndedPlaceTime, func(t *task.Task, place string) bool {
		return !t.State.Live() && t.KeepUntil > byEnd && t.EndedPlace() == place
	}
	return in
}

// ordering is an order of the tasks of a namespace. The members of its keys are the
// namespace, a slash, and the place of a task in the order, which ends with the
// name.
type ordering struct {
	keys   []string
	nameAt int                           // where the name begins in the place
	has    func(*task.Task, string) bool // whether a task that was read after its place is to be listed there
}

// listIn merges the places of all keys, so a page costs a read of each key.
func (s *Store) listIn(ctx context.Context, f *task.Filter, page task.Page, in ordering) (l task.Listing, err error) {
	weight := 0
	for examined := 0; examined < task.MaxPageExamined; {
		limit := min(max(page.Limit, 100), task.MaxPageExamined-examined)
		places, more, err := s.placesAfter(ctx, in.keys, f.Namespace, cmp.Or(l.Next, page.After), page.Before, limit)
		if err != nil {
			return task.Listing{}, err
		}
		reads := make([]records.Read, len(places))
		for i, place := range places {
			reads[i] = records.Read{Key: task.Key{Namespace: f.Namespace, Name: place[in.nameAt:]}, Body: page.Bodies}
		}
		got, err := s.records.ReadAll(ctx, reads)
		if err != nil {
			return task.Listing{}, err
		}
		for i, g := range got {
			if len(l.Tasks) == page.Limit || weight >= task.MaxPageBytes {
				return l, nil
			}
			l.Next = places[i]
			examined++
			if g.Task == nil || !in.has(g.Task, places[i]) || !f.Match(g.Task) {
				continue
			}
			t := g.Task
			if page.Bodies {
				t = g.WithBody()
			}
			weight += t.Weight()
			l.Tasks = append(l.Tasks, t)
		}
		if !more {
			l.Next = ""
			return l, nil
		}
	}
	return l, nil
}

// places is the contribution of one key to a part of a listing.
type places struct {
	key  string
	list []string
	more bool // more places may follow the last one
}

// placesAfter returns the next places of a namespace below the bound before,
// sorted, and whether there are more. An empty bound means none. placesAfter
// reads slightly more than limit/keys places from each key, and reads again if
// that was too few.
func (s *Store) placesAfter(ctx context.Context, keys []string, namespace, after, before string, limit int) (all []string, more bool, err error) {
	parts := make([]*places, len(keys))
	for i, key := range keys {
		parts[i] = &places{key: key, more: true}
	}
	open := parts
	for ask := min(limit+1, 8+2*limit/max(len(parts), 1)); len(open) > 0; ask = min(2*ask, limit+1) {
		if err := s.readPlaces(ctx, open, namespace, after, before, ask); err != nil {
			return nil, false, err
		}
		all = all[:0]
		for _, p := range parts {
			all = append(all, p.list...)
		}
		slices.Sort(all)
		all = slices.Compact(all) // a task may have moved to another key during the reads
		open, more = open[:0:0], len(all) > limit
		for _, p := range parts {
			if p.more && (!more || p.list[len(p.list)-1] < all[limit]) {
				open = append(open, p)
			}
		}
	}
	return all[:min(len(all), limit)], more, nil
}

// readPlaces reads the next limit places in each key.
func (s *Store) readPlaces(ctx context.Context, parts []*places, namespace, after, before string, limit int) error {
	last := "(" + namespace + "0" // '0' follows '/'
	if before != "" {
		last = "(" + namespace + "/" + before
	}
	commands := make([]redisconn.Command, len(parts))
	for i, p := range parts {
		first := "[" + namespace + "/"
		if n := len(p.list); n > 0 {
			first = "(" + namespace + "/" + p.list[n-1]
		} else if after != "" {
			first = "(" + namespace + "/" + after
		}
		commands[i] = func(b rueidis.Builder) rueidis.Completed {
			return b.Zrangebylex().Key(p.key).Min(first).Max(last).Limit(0, int64(limit)).Build()
		}
	}
	results, err := s.servers.Ask(ctx, commands...)
	if err != nil {
		return err
	}
	for i, r := range results {
		read, err := r.AsStrSlice()
		if err != nil {
			return err
		}
		for _, member := range read {
			parts[i].list = append(parts[i].list, strings.TrimPrefix(member, namespace+"/"))
		}
		parts[i].more = len(read) == limit
	}
	return nil
}
