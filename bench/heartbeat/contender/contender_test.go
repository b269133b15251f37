package contender

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestEachContenderEndsSilentConnectionsOnce(t *testing.T) {
	for i := range All {
		t.Run(All[i].Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				x, c := new(Child), Config{Contender: All[i].Name, Connections: 300, Timeout: time.Minute}
				var got Result
				for _, err := range []error{x.Beat(c, &got), x.Calls(1000, &got), x.Silence(2*time.Minute, &got)} {
					if err != nil {
						t.Fatal(err)
					}
				}
				if got.Heartbeats != 600 || got.Calls != 1000 {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

func TestAnUnknownContenderIsNamed(t *testing.T) {
	if err := new(Child).Beat(Config{Contender: "x"}, new(Result)); err == nil || err.Error() != `there is no contender "x"` {
		t.Errorf("got %v", err)
	}
}
