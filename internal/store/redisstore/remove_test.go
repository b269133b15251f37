package redisstore

import (
	"testing"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
)

func TestRemoveTakesTheKeysOfOneStoreAlone(t *testing.T) {
	t.Parallel()
	r := redistest.New(t)
	c := Config{Prefix: "demo-1", Client: rueidis.ClientOption{InitAddress: []string{r.Addr}, DisableCache: true}}
	s, err := Open(t.Context(), c)
	fatal.If(t, err)
	fatal.If(t, apply(t, s, order("a")))
	fatal.If(t, s.Close())
	redis(t, r, "SET", "demo-10:other", "kept")
	fatal.If(t, Remove(t.Context(), c))
	if keys, err := redistest.Command(t.Context(), r.Addr, "DBSIZE"); err != nil || keys != ":1" {
		t.Errorf("%s keys are left, %v", keys, err)
	}
}
