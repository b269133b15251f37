package sparselog

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestARepeatedLineIsWrittenSomeTimesAnIntervalWithTheNumberLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		root := New(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		l := New(root).With("part", "a") // wrapped twice, and derived: the same counts
		for i := range 1000 {
			l.Warn("could not claim", "error", errors.New("no route"), "task", i)
			root.Info("could not settle", "error", errors.New("no route"))
			l.Debug("request")
		}
		lines := func(text string) int { return strings.Count(log.String(), text) }
		if lines("could not claim") != Most || lines("could not settle") != 1 || lines("request") != 1000 || lines(LeftOut) != 0 {
			t.Errorf("%d, %d and %d lines", lines("could not claim"), lines("could not settle"), lines("request"))
		}
		time.Sleep(Every)
		root.Warn("could not claim")
		l.Warn("could not claim")
		if lines("could not claim") != Most+1 || lines(fmt.Sprint(LeftOut, "=", 1000-Most)) != 1 {
			t.Errorf("after the interval:\n%s", log.String()[max(0, log.Len()-300):])
		}
	})
}
