package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// sent returns how many bytes a server has sent.
func sent(t *testing.T, addr string) int {
	t.Helper()
	text, err := redistest.Command(t.Context(), addr, "INFO", "stats")
	fatal.If(t, err)
	_, rest, _ := strings.Cut(text, "total_net_output_bytes:")
	digits, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.Atoi(digits)
	fatal.If(t, err)
	return n
}

// Every client that may list, or read the audit log, can ask for pages that
// match nothing.
func TestAPageReadsLittleMoreThanItExamines(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s, err := Open(t.Context(), Config{Client: rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true}, Alone: true})
	fatal.If(t, err)
	defer func() { _ = s.Close() }()
	for part := range task.MaxPageExamined/500 + 1 {
		soon(t, s, fmt.Sprint("part", part, "-"), 500, time.Hour)
		fatal.If(t, errOf(s.Configure(t.Context(), 1, []settings.Edit{settings.Note(slices.Repeat([]settings.AuditEntry{{At: 1, By: "token:0123456789abcdef", Addr: "192.0.2.1", Namespace: "default", Action: "queue.pause", Target: "q"}}, 500))})))
	}
	for name, limit := range map[string]struct {
		bytes int
		page  func() (int, error)
	}{
		"listing": {3 << 19, func() (n int, err error) {
			l, err := s.List(t.Context(), task.Filter{Namespace: "default", Queue: "none"}, task.Page{Limit: 1000})
			return len(l.Tasks), err
		}},
		"audit log": {4 << 20, func() (n int, err error) {
			p, err := s.Audit(t.Context(), settings.AuditFilter{Action: "none"}, 0, 100)
			return len(p.Entries), err
		}},
	} {
		before, began := sent(t, server.Addr), time.Now()
		n, err := limit.page()
		if err != nil || n != 0 {
			t.Fatal(n, err)
		}
		got := sent(t, server.Addr) - before
		t.Logf("a page of the %s: %d KB in %v", name, got>>10, time.Since(began))
		if got > limit.bytes {
			t.Errorf("a page of the %s that examines %d read %d KB", name, task.MaxPageExamined, got>>10)
		}
	}
}
