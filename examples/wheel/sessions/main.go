// Command sessions closes connections that were silent for two seconds. The
// left side is a TimingWheel<E> in Java, with one timeout for all elements,
// which are the connections themselves:
//
//	new TimingWheel(1, 2, SECONDS)     wheel.NewKeyed(wheel.Config{}, closeIdle)
//	addExpirationListener(listener)    the function closeIdle
//	start()                            nothing: there is no thread
//	add(connection), first or again    Set(connection, idle, …)
//	remove(connection)                 Remove(connection)
//	stop()                             Close
//
// There is no size to choose, and a tick takes 1 ms instead of 1 s. For real
// connections, package idle does all this: see ../../echo.
//
//	go run -C examples ./wheel/sessions
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"time"

	"github.com/foliot/foliot/wheel"
)

// idle is how long a connection may be silent.
const idle = 2 * time.Second

// connection is the key itself. Two pointers are equal if they point to the
// same connection.
type connection struct{ user string }

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	var printing sync.Mutex // one line at a time
	start := time.Now()
	say := func(format string, args ...any) {
		printing.Lock()
		defer printing.Unlock()
		fmt.Fprintf(out, "%4.1f s  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	closeIdle := func(c *connection, _ struct{}) { say("%s is silent: close it", c.user) }
	timeouts := wheel.NewKeyed(wheel.Config{}, closeIdle)

	used := func(c *connection) error {
		again, err := timeouts.Set(c, idle, struct{}{})
		if err == nil && again {
			say("%s has sent something", c.user)
		}
		return err
	}
	ann, bob, eve := &connection{"ann"}, &connection{"bob"}, &connection{"eve"}
	for _, c := range []*connection{ann, bob, eve} {
		if err := used(c); err != nil {
			return err
		}
	}
	say("%d connections", timeouts.Len())

	time.Sleep(1500 * time.Millisecond)
	if err := used(ann); err != nil {
		return err
	}
	if _, ok := timeouts.Remove(bob); ok {
		say("bob has left")
	}
	time.Sleep(3 * time.Second)
	return timeouts.Shutdown(context.Background()) // waits for callbacks
}
