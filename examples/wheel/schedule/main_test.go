package main

import (
	"bytes"
	"testing"
	"testing/synctest"
)

func TestEachRuleTreatsMissedRunsAsItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		run(&out)
		const want = `runs at       the first run takes 2.5 s         stalled from 1.5 s to 4.2 s
skip missed   1.0  4.0  5.0  6.0                1.0  4.2  5.0  6.0
catch up      1.0  3.5  3.5  4.0  5.0  6.0      1.0  4.2  4.2  4.2  5.0  6.0
fixed delay   1.0  4.5  5.5  6.5                1.0  4.2  5.2  6.2
calendar      1.0  4.0  5.0  6.0                1.0  4.2  5.0  6.0
`
		if out.String() != want {
			t.Errorf("it printed:\n%swant:\n%s", out.String(), want)
		}
	})
}
