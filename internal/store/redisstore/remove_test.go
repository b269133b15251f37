package redisstore

import (
	"testing"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/redistest"
)

func TestRemoveTakesTheKeysOfOneStoreAlone(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	c := Config{Prefix: "demo-1", Client: rueidis.ClientOption{InitAddress: []string{r.Addr}, DisableCache: true}}
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := apply(t, s, order("a")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	redis(t, r, "SET", "demo-10:other", "kept")
	if err := Remove(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if keys, err := redistest.Command(t.Context(), r.Addr, "DBSIZE"); err != nil || keys != ":1" {
		t.Errorf("%s keys are left, %v", keys, err)
	}
}
