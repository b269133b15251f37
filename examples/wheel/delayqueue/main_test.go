package main

import (
	"bytes"
	"testing"
	"testing/synctest"
)

func TestAnElementWaitsForATakerAndCanBeRemovedUntilThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		run(&out)
		const want = ` 0.0 s  put a, due in 1s
 0.0 s  put b, due in 1.2s
 0.0 s  put c, due in 1.4s
 0.0 s  put d, due in 1.6s
 0.0 s  put e, due in 3s
 0.0 s  put f, due in 1h0m0s
 1.0 s  take a
 1.2 s  take b
 1.8 s  remove d, which is due: true
 2.0 s  take c
 3.0 s  take e
 4.3 s  1 is left
`
		if out.String() != want {
			t.Errorf("it printed:\n%swant:\n%s", out.String(), want)
		}
	})
}
