package wheel_test

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/wheel"
)

type session struct{ name string }

// A cache of sessions that expire half an hour after their last use. The Keyed
// is the cache itself: no map and no lock are needed.
func ExampleKeyed() {
	sessions := wheel.NewKeyed(wheel.Config{}, func(token string, s session) {
		fmt.Println(s.name, "is logged out")
	})
	const idle = 30 * time.Minute
	if _, err := sessions.Set("t1", idle, session{"alice"}); err != nil {
		fmt.Println(err)
	}
	if _, err := sessions.Set("t2", idle, session{"bob"}); err != nil {
		fmt.Println(err)
	}

	// A request comes.
	if s, _, ok := sessions.Get("t1"); ok && sessions.Move("t1", idle) {
		fmt.Println(s.name, "was seen")
	}
	if s, ok := sessions.Remove("t2"); ok {
		fmt.Println(s.name, "has left")
	}
	if _, _, ok := sessions.Get("t2"); !ok {
		fmt.Println("t2 is unknown")
	}

	sessions.Close()
	for token, s := range sessions.Drain() {
		fmt.Println(token, s.name, "is saved for the next start")
	}
	// Output:
	// alice was seen
	// bob has left
	// t2 is unknown
	// t1 alice is saved for the next start
}

// Many changes of a file, one reload. The first change sets the timer; the
// later ones find it set until it fires. With Set, each change would postpone the
// reload.
func ExampleKeyed_SetIfAbsent() {
	reloaded := make(chan string)
	reloads := wheel.NewKeyed(wheel.Config{}, func(file string, _ struct{}) { reloaded <- file })
	defer reloads.Close()

	due := 0
	for range 1000 {
		if set, err := reloads.SetIfAbsent("config.json", time.Second, struct{}{}); err == nil && set {
			due++
		}
	}
	fmt.Println(due, "reload is due")
	fmt.Println("reload", <-reloaded)
	// Output:
	// 1 reload is due
	// reload config.json
}

// An instant of the wall clock, with a minute of slack: many such timers share
// a wake-up.
func ExampleKeyed_SetAt() {
	offers := wheel.NewKeyed(wheel.Config{}, func(name string, price int) {
		fmt.Println(name, "is over:", price)
	})
	end := time.Now().AddDate(0, 0, 7)
	if _, err := offers.SetAt("autumn", wheel.When{At: end, Slack: time.Minute}, 20); err != nil {
		fmt.Println(err)
	}
	_, left, _ := offers.Get("autumn")
	fmt.Println("more than six days left:", left > 6*24*time.Hour)
	// Output: more than six days left: true
}
