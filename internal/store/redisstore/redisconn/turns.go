package redisconn

import "slices"

// turnItems is the number of items that a sender gets in one turn: a full run of put.
const turnItems = maxItems

// turns holds the writes that wait for a batch. The senders take turns, so an import
// of one namespace delays the claims of the node, and the changes of other
// namespaces, by a turn and not by its length. The writes of one sender keep their
// order.
type turns struct {
	senders map[string]*sender // those with waiting writes
	order   []*sender          // in the order of their next turns
}

type sender struct {
	name   string
	writes []*write
}

func (t *turns) add(writes []*write) {
	for _, w := range writes {
		s := t.senders[w.sender]
		if s == nil {
			if t.senders == nil {
				t.senders = map[string]*sender{}
			}
			s = &sender{name: w.sender}
			t.senders[w.sender], t.order = s, append(t.order, s)
		}
		s.writes = append(s.writes, w)
	}
}

// take removes writes with about n items, in turns. The node has the first turn of
// each batch, because its settlements must keep up with its claims however many
// namespaces import.
func (t *turns) take(n int) (writes []*write) {
	if i := slices.IndexFunc(t.order, func(s *sender) bool { return s.name == "" }); i > 0 {
		node := t.order[i]
		t.order = slices.Insert(slices.Delete(t.order, i, i+1), 0, node)
	}
	for n > 0 && len(t.order) > 0 {
		s := t.order[0]
		t.order = t.order[1:]
		items, taken := 0, 0
		for items < turnItems && taken < len(s.writes) {
			items += max(len(s.writes[taken].items), 1)
			taken++
		}
		writes, s.writes, n = append(writes, s.writes[:taken]...), s.writes[taken:], n-items
		if len(s.writes) > 0 {
			t.order = append(t.order, s)
		} else {
			delete(t.senders, s.name)
		}
	}
	return writes
}
