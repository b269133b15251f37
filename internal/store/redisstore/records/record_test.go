package records

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/task"
)

// medium has the record and the body entry of one task.
type medium struct {
	t     *testing.T
	shard *keyspace.Shard
	value string
	body  string
}

func (m *medium) put(t *task.Task) Record {
	m.t.Helper()
	old := m.parse()
	it, after := Replacement(m.shard, old, t)
	m.value = it.Value
	for _, w := range it.Writes {
		if w.Key != m.shard.Body {
			continue
		}
		if m.body = ""; w.Name == "HSET" {
			m.body = w.Args[1]
		}
	}
	read := m.parse()
	if t != nil && (after.Stamp != read.Stamp || string(after.Inline) != string(read.Inline) || after.Apart() != read.Apart()) {
		m.t.Errorf("the record is %+v, and its put returned %+v", read, after)
	}
	return read
}

func (m *medium) parse() Record {
	m.t.Helper()
	r, err := Parse(task.Key{Namespace: "ns", Name: "a"}, m.value)
	fatal.If(m.t, err)
	if r.Task != nil && r.Task.Request.Body != nil {
		m.t.Error("a parsed task carries its body")
	}
	return r
}

// TestABodyIsInOnePlace: a body is in the record or in its own entry, whatever
// it replaces, and a change that does not carry the body leaves it.
func TestABodyIsInOnePlace(t *testing.T) {
	small, limit := "small", strings.Repeat("l", inlineBody)
	large := limit + "+"
	for _, first := range []string{"", small, limit, large} {
		for _, second := range []string{"", small, limit, large} {
			m := &medium{t: t, shard: keyspace.NewKeys(keyspace.DefaultPrefix, 0).Shards(1)[0]}
			for _, body := range []string{first, second} {
				one := &task.Task{Namespace: "ns", Name: "a", State: task.Scheduled}
				if body != "" {
					one.Request.Body, one.Request.BodySize = []byte(body), len(body)
				}
				m.put(one)
				if got := string(m.parse().Inline) + m.body; got != body {
					t.Errorf("the body is %q, want %q", got, body)
				}
				if inline := body != "" && len(body) <= inlineBody; inline != (m.parse().Inline != nil) || inline && m.body != "" {
					t.Errorf("a body of %d bytes: in the record %v", len(body), !inline)
				}
			}
			claimed := *m.parse().Task
			claimed.State, claimed.Lease = task.Running, &task.Lease{Token: "x"}
			if r := m.put(&claimed); string(r.Inline)+m.body != second || r.Inline != nil && m.body != "" {
				t.Errorf("after a claim the body is %q and %q, want %q", r.Inline, m.body, second)
			}
			if m.put(nil); m.value != "" || m.body != "" {
				t.Errorf("%q and %q stay", m.value, m.body)
			}
		}
	}
}

func TestAValueWithoutARecordIsDamaged(t *testing.T) {
	for _, value := range []string{"stamp", "12345678", "12345678\x01"} {
		if r, err := Parse(task.Key{Namespace: "ns", Name: "a"}, value); err == nil {
			t.Errorf("%q is %+v", value, r)
		}
	}
}
