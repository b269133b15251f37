package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/store/memstore"
)

// The examples run against a server of their own that delivers nothing. Yours
// is at http://127.0.0.1:8750.
func start() (url string, stop func()) {
	store := memstore.New(memstore.Config{})
	srv := httptest.NewServer(api.New(api.Config{Log: slog.New(slog.DiscardHandler)}, store))
	return srv.URL, func() {
		srv.Close()
		_ = store.Close()
	}
}

func Example() {
	url, stop := start()
	defer stop()

	c, err := client.New(url, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()

	t, err := c.Tasks.Create(ctx, client.Spec{
		Name:  "order-42-close",
		Delay: 30 * time.Minute,
		HTTP: client.HTTP{
			URL:  "https://shop.example/orders/42/close",
			Body: client.JSON(map[string]int{"order": 42}),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Name, t.State)

	// The order is paid: the callback is no longer needed.
	done, err := c.Tasks.Cancel(ctx, "order-42-close")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Task.State, done.UnderWay)
	// Output:
	// order-42-close scheduled
	// cancelled false
}

func Example_errors() {
	url, stop := start()
	defer stop()
	c, _ := client.New(url, client.Options{})
	defer c.Close()
	ctx := context.Background()

	_, err := c.Tasks.Get(ctx, "nobody")
	fmt.Println(errors.Is(err, client.ErrNotFound), err)

	_, err = c.Tasks.Create(ctx, client.Spec{Name: "a", HTTP: client.HTTP{URL: "shop.example"}})
	var e *client.Error
	if errors.As(err, &e) {
		fmt.Println(e.Status, e.Code, e.Field)
	}
	// Output:
	// true get nobody: no such task
	// 400 bad_scheme http.url
}

func ExampleKey() {
	url, stop := start()
	defer stop()
	c, _ := client.New(url, client.Options{})
	defer c.Close()

	// A message may come several times: one key creates one task.
	var ids []string
	for range 3 {
		t, err := c.Tasks.Create(context.Background(), client.Spec{
			Delay: time.Hour,
			HTTP:  client.HTTP{URL: "https://shop.example/remind"},
		}, client.Key("message-7781"))
		if err != nil {
			log.Fatal(err)
		}
		ids = append(ids, t.ID)
	}
	fmt.Println(ids[0] == ids[1], ids[1] == ids[2])
	// Output:
	// true true
}

func ExampleTasks_CreateMany() {
	url, stop := start()
	defer stop()
	c, _ := client.New(url, client.Options{})
	defer c.Close()

	specs := make([]client.Spec, 1500)
	for i := range specs {
		specs[i] = client.Spec{
			Name:  fmt.Sprintf("order-%d-close", i%1400), // the last hundred exist already
			Delay: time.Hour,
			HTTP:  client.HTTP{URL: "https://shop.example/close"},
		}
	}
	results, err := c.Tasks.CreateMany(context.Background(), specs)
	if err != nil {
		log.Fatal(err)
	}
	made, there := 0, 0
	for _, r := range results {
		switch {
		case r.Err == nil:
			made++
		case errors.Is(r.Err, client.ErrExists):
			there++
		}
	}
	fmt.Println(made, "made,", there, "were there")
	// Output:
	// 1400 made, 100 were there
}

func ExampleIfMatch() {
	url, stop := start()
	defer stop()
	c, _ := client.New(url, client.Options{})
	defer c.Close()
	ctx := context.Background()
	_, _ = c.Tasks.Create(ctx, client.Spec{Name: "a", Delay: time.Hour, HTTP: client.HTTP{URL: "https://shop.example/"}})

	seen, err := c.Tasks.Get(ctx, "a")
	if err != nil {
		log.Fatal(err)
	}
	// Another client moves it.
	_, _ = c.Tasks.Patch(ctx, "a", client.Patch{Delay: client.Set(2 * time.Hour)})

	_, err = c.Tasks.Patch(ctx, "a", client.Patch{Queue: client.Set("mail")}, client.IfMatch(seen.ETag()))
	fmt.Println(errors.Is(err, client.ErrPrecondition))
	// Output:
	// true
}

func ExampleSchedules_Put() {
	url, stop := start()
	defer stop()
	c, err := client.New(url, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	s, err := c.Schedules.Put(context.Background(), "nightly-report", client.ScheduleSpec{
		Cron: "0 21 * * MON-FRI", TimeZone: "Europe/Berlin",
		Overlap: client.SkipOverlap, // not while the previous task is unfinished
		Task:    client.Spec{HTTP: client.HTTP{URL: "https://shop.example/report"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Name, "is", s.State+":", s.Words)
	// Output: nightly-report is active: at 21:00 on weekdays
}

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
		if _, err := c.Tasks.Cancel(ctx, "report"); err != nil { // another part of the program
			log.Print(err)
		}
	}()

	t, err := c.Tasks.Wait(ctx, "report")
	if err != nil {
		log.Fatal(err) // ErrReplaced, or the context ended
	}
	switch t.State {
	case client.StateDelivered:
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

func ExampleTasks_CancelMatching() {
	url, stop := start()
	defer stop()
	c, _ := client.New(url, client.Options{})
	defer c.Close()
	ctx := context.Background()

	for _, name := range []string{"remind-1", "remind-2", "close-1"} {
		if _, err := c.Tasks.Create(ctx, client.Spec{
			Name: name, Delay: time.Hour, Labels: map[string]string{"customer": "7"},
			HTTP: client.HTTP{URL: "https://shop.example/hooks"},
		}); err != nil {
			log.Fatal(err)
		}
	}
	reminders := client.Filter{Prefix: "remind-", Labels: map[string]string{"customer": "7"}}
	for t, err := range c.Tasks.List(ctx, client.Query{Filter: reminders}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.Name, t.State)
	}
	done, err := c.Tasks.CancelMatching(ctx, reminders, client.Expect(2))
	fmt.Println(done.Changed, err)
	// Unordered output:
	// remind-1 scheduled
	// remind-2 scheduled
	// 2 <nil>
}
