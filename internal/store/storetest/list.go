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
		"pages join to the whole",
		"Pages of any size, each from the Next of the one before, show every task once in the order of names.",
		func(f *fixture) {
			want := []string{"0", "A", "B1", "a", "a-", "a.b", "a0", "a:b", "aa", "b", "z_"} // byte order
			for i := len(want) - 1; i >= 0; i-- {
				f.create(want[i])
			}
			f.create("elsewhere", namespace("other"))
			f.create("elsewhere", namespace("default2"))
			for limit := 1; limit <= len(want)+1; limit++ {
				f.wantNames(fmt.Sprintf("pages of %d", limit), names(f.list(ns(), task.Page{Limit: limit})), want...)
			}
			f.wantNames("after a.b", names(f.list(ns(), task.Page{Limit: 2, After: "a.b"})), want[6:]...)
			f.wantNames("after a name that does not exist", names(f.list(ns(), task.Page{Limit: 2, After: "a/"})), want[6:]...)
			f.wantNames("after the last", names(f.list(ns(), task.Page{Limit: 2, After: "zz"})))
		},
	},
	{
		"a listing is of one namespace",
		"A namespace that has no tasks lists none, the empty one included: no call lists across tenants.",
		func(f *fixture) {
			f.create("a")
			f.create("b", namespace("other"))
			f.wantNames("other", names(f.list(task.Filter{Namespace: "other"}, task.Page{Limit: 9})), "b")
			f.wantNames("defaul", names(f.list(task.Filter{Namespace: "defaul"}, task.Page{Limit: 9})))
			f.wantNames("none", names(f.list(task.Filter{}, task.Page{Limit: 9})))
		},
	},
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
		"bodies are loaded on demand",
		"Without Page.Bodies a record has its BodySize and no bytes; with it, all of them.",
		func(f *fixture) {
			f.create("a", tasktest.Text("12345"))
			f.create("b", tasktest.Bodiless)
			f.create("c", tasktest.Text("x"))
			f.must(start, task.Cancel{Key: tasktest.Key("c")})
			for _, t := range f.list(ns(), task.Page{Limit: 9}) {
				if t.Request.Body != nil {
					f.Errorf("%s: body %q without having been asked for", t.Name, t.Request.Body)
				}
			}
			for _, t := range f.list(ns(), task.Page{Limit: 9, Bodies: true}) {
				f.same("listed with bodies", t, f.get(t.Name))
				if len(t.Request.Body) != t.Request.BodySize {
					f.Errorf("%s: %d bytes of %d", t.Name, len(t.Request.Body), t.Request.BodySize)
				}
			}
		},
	},
	{
		"a page of bodies is bounded",
		"A page with bodies ends after MaxPageBytes of them, so that one request cannot take all memory.",
		func(f *fixture) {
			big := strings.Repeat("x", task.MaxBody)
			for i := range 2*task.MaxPageBytes/task.MaxBody + 1 {
				f.create(fmt.Sprintf("t%02d", i), tasktest.Text(big))
			}
			l, err := f.store.List(f.Context(), ns(), task.Page{Limit: 1000, Bodies: true})
			if n := len(l.Tasks); err != nil || n == 0 || n > task.MaxPageBytes/task.MaxBody+1 || l.Next == "" {
				f.Fatalf("a page of %d bodies of %d bytes, next %q, error %v", n, task.MaxBody, l.Next, err)
			}
			if n := len(f.list(ns(), task.Page{Limit: 1000, Bodies: true})); n != 2*task.MaxPageBytes/task.MaxBody+1 {
				f.Fatalf("all pages together have %d tasks", n)
			}
		},
	},
	{
		"a page of long records is bounded",
		"So does one without bodies: URLs, headers, labels and replies count too.",
		func(f *fixture) {
			const n = 100 // each with 24 KiB of labels
			long := func(s *task.Spec) {
				s.Labels = map[string]string{}
				for i := range task.MaxLabels {
					s.Labels[fmt.Sprintf("%0*d", task.MaxLabelKeyLen, i)] = strings.Repeat("x", task.MaxLabelValueLen)
				}
			}
			for i := range n {
				f.create(fmt.Sprintf("t%02d", i), long)
			}
			l, err := f.store.List(f.Context(), ns(), task.Page{Limit: 1000})
			if err != nil || len(l.Tasks) == 0 || len(l.Tasks) == n || l.Next == "" {
				f.Fatalf("a page of %d long records, next %q, error %v", len(l.Tasks), l.Next, err)
			}
			if all := len(f.list(ns(), task.Page{Limit: 1000})); all != n {
				f.Fatalf("all pages together have %d tasks", all)
			}
		},
	},
}

// ns is the filter that selects the whole default namespace.
func ns() task.Filter { return task.Filter{Namespace: task.DefaultNamespace} }
