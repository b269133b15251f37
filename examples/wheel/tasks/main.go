// Command tasks runs functions at a time, with a string as key. The left side
// is a wheel in Go with such keys, and the TimingWheel of go-zero:
//
//	AddTask(key, f, executeAt)      Set(key, time.Until(executeAt), f)
//	SetTimer(key, value, delay)     Set(key, delay, value)
//	MoveTimer(key, delay)           Move(key, delay)
//	RemoveTask(key), RemoveTimer    Remove(key)
//	Drain(fn)                       for key, value := range Drain()
//	Stop()                          Close
//
// There is no number of slots, no interval and no goroutine. Each call says
// whether it found the key. After a Remove that found it, the function does not
// run. A panic in a function ends the program, as it does on any goroutine,
// unless wheel.Config.OnPanic is set.
//
//	go run -C examples ./wheel/tasks
package main

import (
	"context"
	"io"
	"log"
	"os"
	"time"

	"github.com/foliot/foliot/examples/internal/story"
	"github.com/foliot/foliot/wheel"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	say := story.Start(out)
	tasks := wheel.NewKeyed(wheel.Config{}, func(_ string, task func()) { task() })
	add := func(key string, task func(), executeAt time.Time) error {
		replaced, err := tasks.Set(key, time.Until(executeAt), task)
		if replaced {
			say("add %s again: the new task replaces the old one", key)
		}
		return err
	}
	now := time.Now()
	for _, task := range []struct {
		key string
		at  time.Time
	}{
		{"mail", now.Add(1 * time.Second)},
		{"report", now.Add(1 * time.Second)},
		{"backup", now.Add(time.Hour)},
		{"report", now.Add(2 * time.Second)},
		{"cleanup", now.Add(2 * time.Second)},
		{"invoice", now.Add(time.Hour)},
	} {
		if err := add(task.key, func() { say("run %s", task.key) }, task.at); err != nil {
			return err
		}
	}
	_, found := tasks.Remove("cleanup")
	say("remove cleanup: %t", found)
	_, found = tasks.Remove("unknown")
	say("remove unknown: %t", found)
	say("move backup to 3 s: %t", tasks.Move("backup", 3*time.Second))

	time.Sleep(3500 * time.Millisecond)
	say("move mail, which has run: %t", tasks.Move("mail", time.Second))
	if err := tasks.Shutdown(context.Background()); err != nil { // nothing runs from here on
		return err
	}
	for key := range tasks.Drain() {
		say("%s has not run: keep it for the next start", key)
	}
	return nil
}
