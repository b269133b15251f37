package sqltask

import (
	"testing"

	"github.com/foliot/foliot/internal/task"
)

func TestAScheduleAndItsTasksAreInOneShard(t *testing.T) {
	shards := map[int16]bool{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		key := func(name string) task.Key { return task.Key{Namespace: "default", Name: name} }
		of := Shard(key("@"+name), 32)
		if one := Shard(key(name+"@2026-11-30T09:00:00Z"), 32); one != of {
			t.Errorf("schedule %s is in shard %d, and its task in %d", name, of, one)
		}
		shards[of] = true
		if got, err := ParseKey(Key(key(name))); err != nil || got != key(name) {
			t.Errorf("%v, %v", got, err)
		}
	}
	if len(shards) < 2 {
		t.Error("all are in one shard")
	}
	if _, err := ParseKey("nothing"); err == nil {
		t.Error("a text without a namespace is a key")
	}
}
