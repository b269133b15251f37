package redisstore

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
)

func TestTheTimeOfTheStoreIsThatOfItsServer(t *testing.T) {
	r := redistest.New(t)
	s := openNode(t, "a", r.Addr)
	defer s.Close()
	for range 20 {
		before := s.Now()
		reply, err := redistest.Command(t.Context(), r.Addr, "EVAL", "local t = redis.call('TIME'); return t[1] * 1000000 + t[2]", "0")
		fatal.If(t, err)
		micros, _ := strconv.ParseInt(strings.TrimPrefix(reply, ":"), 10, 64)
		after := s.Latest()
		if at := time.UnixMicro(micros); before.After(at) || after.Before(at) || after.Sub(before) > time.Minute {
			t.Errorf("it is %v there, and here from %v to %v (%q)", at, before, after, reply)
		}
	}
}
