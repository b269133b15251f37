package original

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// MarkFor is how long the cancels of a minute are remembered, from the first.
const MarkFor = 120 * time.Second

var (
	//go:embed add.lua
	addSource string
	//go:embed cancel.lua
	cancelSource string
	//go:embed take.lua
	takeSource string

	addScript    = rueidis.NewLuaScript(addSource)
	cancelScript = rueidis.NewLuaScript(cancelSource)
	takeScript   = rueidis.NewLuaScript(takeSource)
)

// Task is a request to send. Redis has it as JSON with the article's names.
type Task struct {
	Key    string            `json:"key"`
	URL    string            `json:"callback_url"`
	Method string            `json:"method"` // GET or POST
	Body   any               `json:"req"`    // is sent as JSON; nil: no body
	Header map[string]string `json:"header"`
}

// Wheel is a node's view of the tasks in Redis. Its methods may be called by
// many goroutines.
type Wheel struct {
	redis rueidis.Client
	http  *http.Client
}

// New returns a Wheel that calls with caller. The article's program uses
// http.DefaultClient, which keeps two connections to a receiver.
func New(redis rueidis.Client, caller *http.Client) *Wheel {
	return &Wheel{redis: redis, http: caller}
}

// Add makes t due in the second of due. The task itself is the member of the
// sorted set. So another task with the same key replaces nothing.
func (w *Wheel) Add(ctx context.Context, t Task, due time.Time) error {
	if t.Method != http.MethodGet && t.Method != http.MethodPost {
		return fmt.Errorf("add %s: the method %q is not GET or POST", t.Key, t.Method)
	}
	if !strings.HasPrefix(t.URL, "http://") && !strings.HasPrefix(t.URL, "https://") {
		return fmt.Errorf("add %s: the URL %q is not of http or https", t.Key, t.URL)
	}
	member, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode %s: %w", t.Key, err)
	}
	args := []string{strconv.FormatInt(due.Unix(), 10), string(member), t.Key}
	if err := addScript.Exec(ctx, w.redis, keys(due), args).Error(); err != nil {
		return fmt.Errorf("add %s: %w", t.Key, err)
	}
	return nil
}

// Cancel marks a key in the minute of due. It cannot know if there is such a
// task.
func (w *Wheel) Cancel(ctx context.Context, key string, due time.Time) error {
	args := []string{key, strconv.Itoa(int(MarkFor.Seconds()))}
	if err := cancelScript.Exec(ctx, w.redis, keys(due)[1:], args).Error(); err != nil {
		return fmt.Errorf("cancel %s: %w", key, err)
	}
	return nil
}

// keys returns the keys of the minute's tasks and of its cancelled tasks. They
// share a slot, as scripts need it. The minute is that of the caller's zone.
func keys(at time.Time) []string {
	minute := at.Format("2006-01-02-15:04")
	return []string{"wheel_task_{" + minute + "}", "wheel_cancelled_{" + minute + "}"}
}
