package wheel

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

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

// Other libraries have this bug: a period below the tick fires only once.
func TestATickerShorterThanTheTickTicksEveryTick(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		for _, period := range []time.Duration{1, tickOf(cfg) / 3, tickOf(cfg)} {
			ticker, start := tm.NewTicker(period), time.Now()
			for range 1000 {
				<-ticker.C
			}
			ticker.Stop()
			if took := time.Since(start); took < 999*tickOf(cfg) || took > 1001*tickOf(cfg) {
				t.Errorf("period %v: 1000 ticks took %v", period, took)
			}
		}
	})
}

func TestTickerUnderContention(t *testing.T) {
	tm := NewTimers(Config{Shards: 2})
	ticker := tm.NewTicker(time.Microsecond)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range raceOperations() / 100 {
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
		})
	}
	wg.Wait()
	ticker.Reset(time.Millisecond)
	<-ticker.C
	ticker.Stop()
	if n := tm.Len(); n != 0 || len(ticker.C) != 0 {
		t.Errorf("%d pending, %d in the channel", n, len(ticker.C))
	}
	checkCounters(t, tm.use().Wheel)
}
