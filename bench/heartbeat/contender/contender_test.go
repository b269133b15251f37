package contender

import (
	"testing"
	"testing/synctest"
)

// Measure fails unless each connection lives as long as it sends heartbeats,
// and then ends once.
func TestEachContenderEndsSilentConnectionsOnce(t *testing.T) {
	for i := range All {
		t.Run(All[i].Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got Result
				if err := new(Child).Measure(Config{Contender: All[i].Name, Connections: 300, Rounds: 3}, &got); err != nil {
					t.Fatal(err)
				}
				if got.Heartbeats != 900 {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

func TestAnUnknownContenderIsNamed(t *testing.T) {
	if err := new(Child).Measure(Config{Contender: "x"}, new(Result)); err == nil || err.Error() != `there is no contender "x"` {
		t.Errorf("got %v", err)
	}
}
