package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/foliot/foliot/client"
)

// A program creates a task and waits until it is finished or dead. The context
// bounds the wait.
func ExampleTasks_Wait() {
	url, stop := start()
	defer stop()
	c, _ := client.New(url, client.Options{})
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	report := client.Spec{Name: "report", Delay: time.Hour, HTTP: client.HTTP{URL: "https://reports.example/run"}}
	if _, err := c.Tasks.Create(ctx, report); err != nil {
		log.Fatal(err)
	}
	go func() {
		if _, _, err := c.Tasks.Cancel(ctx, "report"); err != nil { // another part of the program
			log.Print(err)
		}
	}()

	t, err := c.Tasks.Wait(ctx, "report")
	if err != nil {
		log.Fatal(err) // ErrReplaced, or the context ended
	}
	switch t.State {
	case client.Delivered:
		fmt.Println("the report is ready")
	default:
		fmt.Println("no report:", t.State)
	}
	// Output: no report: cancelled
}

// A program forwards a request that it has received, an hour later and with its
// headers. The receiver gets the same body and content type.
func ExampleTasks_Publish() {
	url, stop := start()
	defer stop()
	c, _ := client.New(url, client.Options{})
	defer c.Close()

	t, err := c.Tasks.Publish(context.Background(), client.Publication{
		URL:    "https://shop.example/hooks/payment",
		Header: http.Header{"Content-Type": {"application/json"}, "X-Shop": {"berlin"}},
		Body:   []byte(`{"order": 42}`),
		Name:   "payment-42",
		Delay:  time.Hour,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Name, t.State, t.HTTP.Method, t.HTTP.URL)
	// Output: payment-42 scheduled POST https://shop.example/hooks/payment
}

// Run is not repeated by the client if it may have been applied, because a
// second Run would send the task twice. The program decides.
func ExampleMaybeApplied() {
	// This server takes the request and closes the connection without a reply.
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	c, _ := client.New(server.URL, client.Options{})
	defer c.Close()

	_, err := c.Tasks.Run(context.Background(), "order-42-close")
	switch {
	case err == nil:
		fmt.Println("the task runs now")
	case client.MaybeApplied(err):
		fmt.Println("unknown: read the task, and see if an attempt was made")
	default:
		fmt.Println("the task does not run:", err)
	}
	// Output: unknown: read the task, and see if an attempt was made
}
