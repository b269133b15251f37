package original

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// scanTime bounds a scan with all its calls.
const scanTime = 30 * time.Second

// Scan takes the tasks of the second of now and of the next one, if that is in
// the same minute. It calls each in a goroutine, and waits for them. A node
// calls Scan each second, without waiting for the last one. Errors lose tasks:
// nothing is taken twice, and a later Scan takes later seconds.
func (w *Wheel) Scan(ctx context.Context, now time.Time) {
	ctx, stop := context.WithTimeout(ctx, scanTime)
	defer stop()
	tasks, err := w.take(ctx, now)
	if err != nil {
		return
	}
	var calls sync.WaitGroup
	for i := range tasks {
		calls.Go(func() { _ = w.call(ctx, &tasks[i]) }) // this design does not retry
	}
	calls.Wait()
}

// take takes tasks out of Redis, and returns those that are not cancelled.
func (w *Wheel) take(ctx context.Context, now time.Time) ([]Task, error) {
	// Like the article's program, it reads the wall clock's digits again. In an
	// hour that occurs twice, they can mean the other one.
	second := time.Date(now.Year(), now.Month(), now.Day(), now.Hour(), now.Minute(), now.Second(), 0, now.Location()).Unix()
	args := []string{strconv.FormatInt(second, 10), strconv.FormatInt(second+1, 10)}
	reply, err := takeScript.Exec(ctx, w.redis, keys(now), args).ToArray()
	if err != nil {
		return nil, fmt.Errorf("take the tasks of %v: %w", now, err)
	}
	members, err := reply[0].AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("read the tasks of %v: %w", now, err)
	}
	cancelled, err := reply[1].AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("read the cancelled tasks of %v: %w", now, err)
	}
	return wanted(members, cancelled), nil
}

func wanted(members, cancelled []string) []Task {
	marked := make(map[string]bool, len(cancelled))
	for _, key := range cancelled {
		marked[key] = true
	}
	tasks := make([]Task, 0, len(members))
	for _, m := range members {
		var t Task
		if err := json.Unmarshal([]byte(m), &t); err == nil && !marked[t.Key] {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// call sends the request. Every status but 200 is an error.
func (w *Wheel) call(ctx context.Context, t *Task) error {
	var body io.Reader
	if t.Body != nil {
		text, err := json.Marshal(t.Body)
		if err != nil {
			return fmt.Errorf("encode the body of %s: %w", t.Key, err)
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, t.Method, t.URL, body)
	if err != nil {
		return fmt.Errorf("call %s: %w", t.Key, err)
	}
	for name, value := range t.Header {
		r.Header.Add(name, value)
	}
	r.Header.Add("Content-Type", "application/json")
	reply, err := w.http.Do(r)
	if err != nil {
		return fmt.Errorf("call %s: %w", t.Key, err)
	}
	defer func() { _ = reply.Body.Close() }() // it is not read
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("call %s: the reply is %s", t.Key, reply.Status)
	}
	return nil
}
