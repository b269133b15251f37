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

func TestANamespaceOrACodeDoesNotHideTheLinesOfAnother(t *testing.T) {
	var log bytes.Buffer
	l := New(slog.New(slog.NewTextHandler(&log, nil)))
	for i := range 100 {
		l.Warn("a task died", "namespace", "busy", "task", i)
		l.Error("request failed", "code", "capacity", "path", i)
	}
	l.Warn("a task died", "namespace", "quiet", "task", 1)
	l.Error("request failed", "code", "internal", "path", 1)
	for _, text := range []string{"namespace=quiet", "code=internal"} {
		if strings.Count(log.String(), text) != 1 {
			t.Errorf("no line with %s", text)
		}
	}
	for i := range 3 * maxKinds { // each could be another kind
		l.Warn("a task died", "namespace", fmt.Sprint(i))
	}
	if n := strings.Count(log.String(), "a task died"); n > maxKinds+2*Most {
		t.Errorf("%d lines", n)
	}
}
