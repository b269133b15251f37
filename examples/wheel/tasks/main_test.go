package main

import (
	"bytes"
	"testing"
	"testing/synctest"
)

func TestATaskRunsOnceOrIsRemovedOrDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		if err := run(&out); err != nil {
			t.Fatal(err)
		}
		const want = ` 0.0 s  add report again: the new task replaces the old one
 0.0 s  remove cleanup: true
 0.0 s  remove unknown: false
 0.0 s  move backup to 3 s: true
 1.0 s  run mail
 2.0 s  run report
 3.0 s  run backup
 3.5 s  move mail, which has run: false
 3.5 s  invoice has not run: keep it for the next start
`
		if out.String() != want {
			t.Errorf("it printed:\n%swant:\n%s", out.String(), want)
		}
	})
}
