package redisconn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/task"
)

func TestALastingFailureIsLoggedOnceAMinuteAndItsEndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		all := &FailureLog{sparselog.Failures{Logger: slog.New(slog.NewTextHandler(&log, nil))}}
		for range 1250 { // a little more than two minutes
			all.Note("own shards", errors.New("no route"))
			time.Sleep(100 * time.Millisecond)
		}
		all.Note("read the settings", nil)
		all.Note("own shards", nil)
		all.Note("own shards", nil)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 4 || !strings.Contains(lines[1], "not_logged_before=599") || !strings.Contains(lines[3], "can own shards again") {
			t.Errorf("%d lines:\n%s", len(lines), log.String())
		}
	})
}

func TestUnreachableServersCountAsOneFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		all := &FailureLog{sparselog.Failures{Logger: slog.New(slog.NewTextHandler(&log, nil))}}
		refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		for what, err := range map[string]error{
			"own shards": refused, "read the settings": fmt.Errorf("%w: %w", task.ErrUnavailable, refused), "tell the others": io.EOF, "look": context.DeadlineExceeded,
		} {
			all.Note(what, err)
		}
		all.Note("own shards", nil)
		time.Sleep(calm)
		all.Note(reaching, nil)
		all.Note("own shards", errors.New("no route"))
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 3 || !strings.Contains(lines[0], "use Redis") || !strings.Contains(lines[1], "can use Redis again") || !strings.Contains(lines[2], "own shards") {
			t.Errorf("%d lines:\n%s", len(lines), log.String())
		}
	})
}

func TestOnlyPassingErrorRepliesCountAsAway(t *testing.T) {
	s := connected(t, Config{}, redistest.New(t).Addr)
	for text, is := range map[string]bool{"LOADING it reads its file": true, "READONLY it is a replica": true, "ERR wrong kind of value": false} {
		_, err := s.Client.Do(t.Context(), s.Client.B().Eval().Script("return redis.error_reply(ARGV[1])").Numkeys(0).Arg(text).Build()).ToString()
		if err == nil || Away(fmt.Errorf("shard 1: %w", err)) != is {
			t.Errorf("%v counts as away: %t", err, !is)
		}
	}
}

// A Redis that is reading its file reports its state and refuses all other
// commands.
func TestNoRecoveryIsLoggedWhileRedisReadsItsFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		all := &FailureLog{sparselog.Failures{Logger: slog.New(slog.NewTextHandler(&log, nil))}}
		for range 10 {
			all.Note("own shards", fmt.Errorf("%w: LOADING", task.ErrUnavailable))
			time.Sleep(CheckEvery)
			all.Note(reaching, nil)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%d lines:\n%s", n, log.String())
		}
		for range 3 {
			all.Note("own shards", nil)
			time.Sleep(CheckEvery)
			all.Note(reaching, nil)
		}
		if n := strings.Count(log.String(), "can use Redis again"); n != 1 {
			t.Errorf("%d times:\n%s", n, log.String())
		}
	})
}
