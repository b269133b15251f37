// Command callbacks calls URLs at their time, through a Redis or a directory:
// the RTimeWheel of the articles, with the names of package foliot:
//
//	NewRTimeWheel(redisClient, httpClient)    foliot.Open(ctx, redis.Store(url), …), node.Run
//	AddTask(ctx, key, task, executeAt)        foliot.HTTP.Put(ctx, node, key, foliot.At(executeAt), request)
//	RemoveTask(ctx, key, executeAt)           node.Cancel(ctx, key)
//	Stop()                                    node.Close()
//
// A second Put of a key replaces the request. Its receiver is in the same
// program.
//
//	go run -C examples ./embed/callbacks
//	go run -C examples ./embed/callbacks -redis redis://127.0.0.1:6379
package main

import (
	"context"
	"flag"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
	"github.com/foliot/foliot/examples/internal/story"
	"github.com/foliot/foliot/redis"
)

func main() {
	url := flag.String("redis", "", "URL of a Redis that keeps its data; none: a new directory")
	flag.Parse()
	if err := run(context.Background(), *url, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string, out io.Writer) error {
	store := redis.Store(url)
	if url == "" {
		data, err := os.MkdirTemp("", "callbacks-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(data)
		store = dir.Store(data)
	}
	say := story.Start(out)
	called := make(chan struct{}, 4)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a call without its body is printed too
		say("%s %s %s", r.Method, r.Header.Get("X-Shop"), body)
		called <- struct{}{}
	}))
	defer receiver.Close()

	// This program may call its own machine.
	node, err := foliot.Open(ctx, store, new(foliot.Mux), foliot.Options{URLs: foliot.URLs("127.0.0.0/8")})
	if err != nil {
		return err
	}
	defer node.Close()
	add := func(key string, at time.Time, body any) {
		request := foliot.Request{URL: receiver.URL, Method: "PATCH", Headers: map[string]string{"X-Shop": key}, JSON: body}
		if _, putErr := foliot.HTTP.Put(ctx, node, key, foliot.At(at), request); err == nil {
			err = putErr
		}
	}
	now := time.Now()
	add("order-1", now.Add(time.Second), "close the order")
	add("order-2", now.Add(time.Second), "never sent")
	add("order-3", now.Add(time.Second), "never sent")
	add("order-3", now.Add(1500*time.Millisecond), "the later request replaces the first")
	add("order-4", now.Add(-time.Minute), "a time in the past is now")
	if err != nil {
		return err
	}
	if _, err := node.Cancel(ctx, "order-2"); err != nil {
		return err
	}

	ctx, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	go func() {
		for range 3 {
			<-called
		}
		stop()
	}()
	return node.Run(ctx)
}
