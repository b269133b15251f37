package wheel

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// received counts the times that a channel delivers during d, and checks that
// each is on the grid.
func received(t *testing.T, c <-chan time.Time, d time.Duration, check func(at time.Time)) (n int) {
	t.Helper()
	over := time.After(d)
	for {
		select {
		case at := <-c:
			n++
			check(at)
		case <-over:
			return n
		}
	}
}

// A period that is not a multiple of the tick is exact: 10^5 periods of 7.3 ms
// do not drift.
func TestATickerDoesNotDrift(t *testing.T) {
	periods := time.Duration(100_000)
	if testing.Short() {
		periods = 5000
	}
	inBubble(t, func(t *testing.T, cfg Config) {
		const period = 73 * time.Millisecond / 10
		tm := NewTimers(cfg)
		start := time.Now()
		ticker := tm.NewTicker(period)
		n := time.Duration(0)
		for at := range ticker.C {
			n++
			late := at.Sub(start) % period
			if late >= tickOf(cfg) {
				t.Fatalf("tick %d is %v late", n, late)
			}
			if at.Sub(start) >= periods*period {
				break
			}
		}
		ticker.Stop()
		if cfg.Tick == 0 && n != periods {
			t.Errorf("%d ticks, want %d", n, periods)
		}
	})
}

// Other libraries have this bug: a period below the tick fires only once.
func TestATickerShorterThanTheTickTicksEveryTick(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		for _, period := range []time.Duration{1, tickOf(cfg) / 3, tickOf(cfg)} {
			ticker := tm.NewTicker(period)
			n := received(t, ticker.C, 1000*tickOf(cfg)+tickOf(cfg)/2, func(time.Time) {})
			if ticker.Stop(); n < 999 || n > 1001 {
				t.Errorf("period %v: %d ticks in 1000 of the wheel's", period, n)
			}
		}
	})
}

func TestAStalledTickerSkipsMissedTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tm := NewTimers(Config{Shards: 1, Run: Inline})
		start := time.Now()
		ticker := tm.NewTicker(time.Second)
		tm.AfterFunc(1500*time.Millisecond, func() { time.Sleep(5 * time.Second) }) // the driver is blocked
		var at []time.Duration
		for range 4 {
			at = append(at, (<-ticker.C).Sub(start))
		}
		ticker.Stop()
		want := []time.Duration{time.Second, 6500 * time.Millisecond, 7 * time.Second, 8 * time.Second}
		for i := range want {
			if at[i] != want[i] {
				t.Fatalf("ticks at %v, want %v", at, want)
			}
		}
	})
}

func TestATickerKeepsItsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tm := NewTimers(Config{MaxPending: 2, Run: Inline})
		ticker := tm.NewTicker(time.Second)
		for range 100 { // other timers compete for its room at every tick
			tm.AfterFunc(time.Hour, func() {})
			<-ticker.C
		}
		ticker.Reset(time.Minute)
		<-ticker.C
		refused := tm.NewTicker(time.Second)
		time.Sleep(90 * time.Second)
		if len(refused.C) != 0 || len(ticker.C) != 1 {
			t.Error("not the standing ticker ticks, but the other")
		}
		ticker.Stop()
		refused.Reset(time.Second)
		<-refused.C
		refused.Stop()
		if n := tm.use().rooms.n.Load(); n != 1 {
			t.Errorf("%d rooms are taken, by one timer", n)
		}
	})
}

func TestATickerEndsAtClose(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		ticker := tm.NewTicker(time.Second)
		time.Sleep(1500 * time.Millisecond)
		tm.Close()
		ticker.Reset(time.Second)
		late := tm.NewTicker(time.Second)
		time.Sleep(time.Minute)
		if len(ticker.C)+len(late.C) != 0 || tm.Len() != 0 {
			t.Error("a closed Timers ticks")
		}
	})
}

func TestTickerUnderContention(t *testing.T) {
	tm := NewTimers(Config{Shards: 2})
	ticker := tm.NewTicker(time.Microsecond)
	var stop atomic.Bool
	done := make(chan struct{})
	for range 8 {
		go func() {
			for i := 0; !stop.Load(); i++ {
				switch i % 3 {
				case 0:
					ticker.Reset(time.Duration(1 + i%100))
				case 1:
					ticker.Stop()
				default:
					select {
					case <-ticker.C:
					default:
					}
				}
			}
			done <- struct{}{}
		}()
	}
	time.Sleep(50 * time.Millisecond) // bounds the load
	stop.Store(true)
	for range 8 {
		<-done
	}
	ticker.Reset(time.Millisecond)
	<-ticker.C
	ticker.Stop()
	if n := tm.Len(); n != 0 || len(ticker.C) != 0 {
		t.Errorf("%d pending, %d in the channel", n, len(ticker.C))
	}
	checkCounters(t, tm.use().Wheel)
}
