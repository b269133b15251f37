package main

import (
	"bytes"
	"testing"
	"testing/synctest"
)

func TestAConnectionIsClosedTwoSecondsAfterItsLastUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		if err := run(&out); err != nil {
			t.Fatal(err)
		}
		const want = ` 0.0 s  3 connections
 1.5 s  ann has sent something
 1.5 s  bob has left
 2.0 s  eve is silent: close it
 3.5 s  ann is silent: close it
`
		if out.String() != want {
			t.Errorf("it printed:\n%swant:\n%s", out.String(), want)
		}
	})
}
