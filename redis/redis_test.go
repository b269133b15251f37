package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
)

func TestAProgramWithARedisLinksTheseModules(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-buildvcs=false", "-deps", "-f", "{{if not .Standard}}{{.Module.Path}}{{end}}", ".").Output()
	fatal.If(t, err)
	linked := strings.Fields(string(out))
	slices.Sort(linked)
	want := []string{"code.dny.dev/ssrf", "github.com/foliot/foliot", "github.com/redis/rueidis", "golang.org/x/net", "golang.org/x/sys", "golang.org/x/text"}
	if linked = slices.Compact(linked); !slices.Equal(linked, want) {
		t.Errorf("it links %q", linked)
	}
}

func TestAnUnfitRedisIsRefusedWithoutNamingAFlag(t *testing.T) {
	r := redistest.New(t, "--maxmemory-policy", "allkeys-lru", "--appendonly", "no")
	n, err := foliot.Open(t.Context(), parse(t, "redis://"+r.Addr), nil, foliot.Options{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Fatal(n.Close())
	}
	if text := err.Error(); !strings.Contains(text, "noeviction") || strings.Contains(text, " --") {
		t.Error(text)
	}
}

// parse returns the store at a URL.
func parse(t *testing.T, url string) foliot.Store {
	t.Helper()
	st, err := Parse(url)
	fatal.If(t, err)
	return st
}

func TestParseReportsTheMistakesOfAURLAtOnceAndWithoutItsPassword(t *testing.T) {
	for url, want := range map[string]string{
		"http://localhost":                       "begins with redis://",
		"redis://:sesame@localhost?shards=3":     "a parameter after the ? is not one of",
		"rediss://:sesame@localhost?ca=/no/file": "ca: ",
	} {
		if _, err := Parse(url); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestUseTakesTheSettingsOfTheProgramAndOpenReportsTheirMistakes(t *testing.T) {
	r := redistest.New(t)
	dialled := make(chan string, 100)
	client := rueidis.ClientOption{InitAddress: []string{r.Addr}, DialCtxFn: func(ctx context.Context, to string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		dialled <- to
		return d.DialContext(ctx, "tcp", to)
	}}
	work := foliot.NewKind[int]("work")
	n, err := foliot.Open(t.Context(), Use(client, Options{Prefix: "shop", Durability: Async}), nil, foliot.Options{Logger: slog.New(slog.DiscardHandler)})
	fatal.If(t, err)
	if i, err := work.In(t.Context(), n, "a", time.Hour, 1); err != nil || i.Durability != "async" {
		t.Errorf("%+v, %v", i, err)
	}
	same := program(t, "redis://"+r.Addr+"?prefix=shop", nil)
	if _, err := same.Get(t.Context(), "a"); err != nil {
		t.Errorf("the same prefix in a URL: %v", err)
	}
	fatal.If(t, n.Close())
	if len(dialled) == 0 {
		t.Error("the dialer of the program was not called")
	}
	for want, st := range map[string]foliot.Store{
		"no InitAddress":              Use(rueidis.ClientOption{}, Options{}),
		"the prefix must have":        Use(client, Options{Prefix: "{a}"}),
		`unknown durability "synced"`: Use(client, Options{Durability: "synced"}),
	} {
		if _, err := foliot.Open(t.Context(), st, nil, foliot.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// program is a node of a test, with a handler that notes its tasks.
func program(t *testing.T, url string, mux *foliot.Mux) *foliot.Node {
	t.Helper()
	n, err := foliot.Open(t.Context(), parse(t, url), mux, foliot.Options{Logger: slog.New(slog.DiscardHandler), Grace: time.Second})
	fatal.If(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	if mux != nil {
		go func() { ended <- n.Run(ctx) }()
	} else {
		ended <- nil
	}
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, n.Close()); err != nil {
			t.Error(err)
		}
	})
	return n
}

func TestThreeProgramsShareTheTasksOfOneThatOnlyCreates(t *testing.T) {
	quick.Leave(t, "starts several programs")
	r := redistest.New(t)
	url := "redis://" + r.Addr
	work := foliot.NewKind[int]("work")
	var mu sync.Mutex
	by := map[int]int{}   // tasks by program
	seen := map[int]int{} // attempts by task
	for p := range 3 {
		mux := new(foliot.Mux)
		work.Handle(mux, func(_ context.Context, task *foliot.Task[int]) error {
			mu.Lock()
			defer mu.Unlock()
			by[p]++
			seen[task.Args]++
			return nil
		})
		program(t, url, mux)
	}
	creator := program(t, url, nil)
	for i := range 300 {
		if _, err := work.In(t.Context(), creator, fmt.Sprint("t", i), time.Duration(i)*10*time.Millisecond, i); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(redistest.Patience)
	for done := 0; done < 300 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) { // between two looks
		mu.Lock()
		done = len(seen)
		mu.Unlock()
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 300 || len(by) != 3 {
		t.Errorf("%d tasks were handled by %v", len(seen), by)
	}
}

// A cancel in one process ends the context of a handler in another one.
func TestACancelReachesAHandlerInAnotherProcess(t *testing.T) {
	r := redistest.New(t)
	url := "redis://" + r.Addr
	work := foliot.NewKind[int]("work")
	began, cause := make(chan bool, 1), make(chan error, 1)
	mux := new(foliot.Mux)
	work.Handle(mux, func(ctx context.Context, _ *foliot.Task[int]) error {
		began <- true
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return ctx.Err()
	})
	program(t, url, mux)
	other := program(t, url, nil)
	if _, err := work.In(t.Context(), other, "a", 0, 1, foliot.Timeout(time.Minute)); err != nil {
		t.Fatal(err)
	}
	<-began
	asked := time.Now()
	if c, err := other.Cancel(t.Context(), "a"); !c.UnderWay || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if err := <-cause; !errors.Is(err, foliot.ErrCancelled) {
		t.Errorf("the cause is %v", err)
	}
	if took := time.Since(asked); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestProgramsWithDifferentPrefixesShareNoTask(t *testing.T) {
	r := redistest.New(t)
	work := foliot.NewKind[string]("work")
	shop, mail := make(chan string, 2), make(chan string, 2)
	for prefix, ran := range map[string]chan string{"shop": shop, "mail": mail} {
		mux := new(foliot.Mux)
		work.Handle(mux, func(_ context.Context, task *foliot.Task[string]) error {
			ran <- task.Args
			return nil
		})
		n := program(t, "redis://"+r.Addr+"?prefix="+prefix, mux)
		if _, err := work.In(t.Context(), n, "report", 0, prefix); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := <-shop, <-mail; a != "shop" || b != "mail" {
		t.Errorf("shop ran %q, and mail ran %q", a, b)
	}
	if len(shop)+len(mail) > 0 {
		t.Error("a task ran in both programs")
	}
}

func TestAProgramChoosesADurabilityAndLearnsWhichWasReached(t *testing.T) {
	alone := redistest.New(t, "--appendfsync", "always")
	master := redistest.New(t, "--repl-diskless-sync-delay", "0", "--appendfsync", "always")
	replica := redistest.NewReplica(t, master.Addr)
	work := foliot.NewKind[int]("work")
	for i, c := range []struct{ addr, level, reached string }{
		{alone.Addr, "", "async"},
		{alone.Addr, "&durability=strict", "strict"},
		{master.Addr, "", "default"},
		{master.Addr, "&durability=async", "async"},
		{master.Addr, "&durability=strict", "strict"},
	} {
		n := program(t, fmt.Sprintf("redis://%s?prefix=p%d%s", c.addr, i, c.level), nil)
		created, err := work.In(t.Context(), n, "a", time.Hour, 1)
		moved, err2 := n.Move(t.Context(), "a", foliot.In(2*time.Hour))
		if err := errors.Join(err, err2); err != nil || created.Durability != c.reached || moved.Durability != c.reached {
			t.Errorf("%+v: %+v, %+v, %v", c, created, moved, err)
		}
	}
	n := program(t, "redis://"+master.Addr+"?durability=strict", nil)
	replica.Kill()
	if _, err := work.In(t.Context(), n, "b", time.Hour, 1); !errors.Is(err, foliot.ErrUnavailable) {
		t.Errorf("strict without its replica: %v", err)
	}
}

func TestOpenSaysIfTheServerCannotBeReached(t *testing.T) {
	if _, err := foliot.Open(t.Context(), parse(t, "redis://127.0.0.1:1"), nil, foliot.Options{}); !errors.Is(err, foliot.ErrUnavailable) {
		t.Error(err)
	}
}
