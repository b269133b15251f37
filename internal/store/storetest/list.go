package storetest

import (
	"fmt"
	"strings"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// listCases: a list has every matching task once, in the order of names, in
// pages of any size.
var listCases = []testCase{
	{
		"a schedule's tasks are found by its name",
		"A list of a schedule's occurrences has them in all states. It has no schedule, no other schedule's occurrences and no death notices.",
		func(f *fixture) {
			for _, name := range []string{"s", "s.a", "s@1000", "s@1000.b5", "s@2000.t7", "s@1000@dead.id.1", "sA", "s-@1000", "r@1000"} {
				s := f.spec("any")
				s.Name = name // only the server makes names with an @
				f.must(start, task.Create{Spec: s})
			}
			f.must(start, task.Cancel{Key: tasktest.Key("s@1000")})
			for limit := 1; limit <= 4; limit++ {
				filter := task.Filter{Namespace: task.DefaultNamespace, Schedule: "s"}
				f.wantNames("of s", names(f.list(filter, filter.Narrow(task.Page{Limit: limit}))), "s@1000", "s@1000.b5", "s@2000.t7")
				f.wantNames("of s, in the whole", names(f.list(filter, task.Page{Limit: limit})), "s@1000", "s@1000.b5", "s@2000.t7")
			}
		},
	},
	{
		"tasks are found by the beginning of their names",
		"A list with a prefix has the tasks whose names begin with it, and no others. The prefix may be a whole name, and may end in any character of a name.",
		func(f *fixture) {
			all := []string{"a", "a-", "a-1", "a.", "a0", "a9z", "a:", "aA", "aZ", "a_", "aa", "az", "az-1", "azz", "b", "s@1", "s@2"}
			for _, name := range all {
				s := f.spec("any")
				s.Name = name // only the server makes names with an @
				f.must(start, task.Create{Spec: s})
			}
			for _, prefix := range append(all, "a9", "a:x", "s@", "s", "z") {
				var want []string
				for _, name := range all {
					if strings.HasPrefix(name, prefix) {
						want = append(want, name)
					}
				}
				filter := task.Filter{Namespace: task.DefaultNamespace, Prefix: prefix}
				f.wantNames("from "+prefix, names(f.list(filter, filter.Narrow(task.Page{Limit: 3}))), want...)
				f.wantNames("from "+prefix+", in the whole", names(f.list(filter, task.Page{Limit: 9})), want...)
			}
			both := task.Filter{Namespace: task.DefaultNamespace, Prefix: "s@2", Schedule: "s"}
			f.wantNames("of a schedule", names(f.list(both, both.Narrow(task.Page{Limit: 9}))), "s@2")
		},
	},
	{
		"a page of long records is bounded",
		"A page ends after MaxPageBytes of records, so that one request cannot take all memory: of bodies if it has them, and of URLs, headers, labels and replies.",
		func(f *fixture) {
			const n = 100
			big := strings.Repeat("x", task.MaxBody)
			for i := range n {
				f.create(fmt.Sprintf("t%02d", i), func(s *task.Spec) {
					s.Labels = map[string]string{}
					for i := range task.MaxLabels { // 24 KiB
						s.Labels[fmt.Sprintf("%0*d", task.MaxLabelKeyLen, i)] = strings.Repeat("x", task.MaxLabelValueLen)
					}
					if i < 2*task.MaxPageBytes/task.MaxBody+1 {
						tasktest.Text(big)(s)
					}
				})
			}
			for bodies, most := range map[bool]int{false: n - 1, true: task.MaxPageBytes/task.MaxBody + 1} {
				l, err := f.store.List(f.Context(), ns(), task.Page{Limit: 1000, Bodies: bodies})
				if err != nil || len(l.Tasks) == 0 || len(l.Tasks) > most || l.Next == "" {
					f.Fatalf("a page of %d long records, bodies %v, next %q, error %v", len(l.Tasks), bodies, l.Next, err)
				}
				if all := len(f.list(ns(), task.Page{Limit: 1000, Bodies: bodies})); all != n {
					f.Fatalf("all pages together have %d tasks", all)
				}
			}
		},
	},
}

// ns is the filter that selects the whole default namespace.
func ns() task.Filter { return task.Filter{Namespace: task.DefaultNamespace} }
