package dispatch

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/task"
)

func TestABreakerThatOpensAndClosesIsLoggedWithItsReason(t *testing.T) {
	var log bytes.Buffer
	f := &flaky{outcome: refused}
	c := Config{Slots: 1, BreakerFailures: 3, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	inBubble(t, c, nil, f.receive, func(b *bed) {
		b.apply(crowd(t, "t", 5, to("flaky"), stubborn)...)
		b.pass(20 * time.Second)
		wantLines(t, &log, `level=WARN msg="breaker opened" namespace=default destination=flaky:80 failures=3`, `reason="connection refused" status=0`)
		if n := strings.Count(log.String(), "breaker"); n != 1 {
			t.Errorf("%d lines: a probe that fails changes nothing\n%s", n, log.String())
		}
		f.set(nil, 0)
		b.pass(31 * time.Second)
		wantLines(t, &log, `level=INFO msg="breaker closed" namespace=default destination=flaky:80 open_for=`, `reason="the receiver replied"`)
	})
}

func TestManyOpeningBreakersAreLoggedSparsely(t *testing.T) {
	var log bytes.Buffer
	f := &flaky{outcome: refused}
	c := Config{BreakerFailures: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	inBubble(t, c, nil, f.receive, func(b *bed) {
		slow := retry(task.Retry{MinBackoff: time.Hour, MaxBackoff: time.Hour})
		for i := range 100 {
			b.create(fmt.Sprint("t", i), time.Second, to(fmt.Sprint("flaky", i)), slow)
		}
		b.create("late", 30*time.Second, to("flakylate"), slow)
		b.pass(40 * time.Second)
		if n := strings.Count(log.String(), "breaker opened"); n != sparselog.Most+1 {
			t.Errorf("%d lines, want %d:\n%s", n, sparselog.Most+1, log.String())
		}
		wantLines(t, &log, "destination=flakylate:80", fmt.Sprint("not_logged_before=", 100-sparselog.Most))
	})
}

func wantLines(t *testing.T, log *bytes.Buffer, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log lacks %s:\n%s", part, log.String())
		}
	}
}
