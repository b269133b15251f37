package main

import (
	"bytes"
	"testing"
	"testing/synctest"
)

func TestTheLoopEndsSilentPeersAndSleepsBetweenEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		run(&out)
		const want = ` 0.0 s  ann is new
 0.5 s  bob is new
 1.0 s  ann is alive
 1.5 s  ann is alive
 1.5 s  bob is silent
 2.5 s  ann is silent
 2.5 s  the loop made 12 turns in 251 ticks
`
		if out.String() != want {
			t.Errorf("it printed:\n%swant:\n%s", out.String(), want)
		}
	})
}
