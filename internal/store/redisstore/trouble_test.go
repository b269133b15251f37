package redisstore

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestATroubleThatLastsIsLoggedOnceAMinuteAndItsEndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		all := &troubles{logger: slog.New(slog.NewTextHandler(&log, nil))}
		for range 1250 { // a little more than two minutes
			all.about("own shards", errors.New("no route"))
			time.Sleep(100 * time.Millisecond)
		}
		all.about("read the settings", nil)
		all.about("own shards", nil)
		all.about("own shards", nil)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 4 || !strings.Contains(lines[1], "not_logged_before=599") || !strings.Contains(lines[3], "works again") {
			t.Errorf("%d lines:\n%s", len(lines), log.String())
		}
	})
}
