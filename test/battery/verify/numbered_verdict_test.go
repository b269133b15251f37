package verify

import (
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// deliveriesAt yields callbacks at instants in milliseconds into the run.
func deliveriesAt(lines ...any) iter.Seq2[Delivery, error] {
	return func(yield func(Delivery, error) bool) {
		for i := 0; i < len(lines); i += 2 {
			l := Delivery{Name: []byte(lines[i].(string)), ID: []byte("id"), At: at(lines[i+1].(float64)).UnixNano()}
			if !yield(l, nil) {
				return
			}
		}
	}
}

// three tasks, due 100, 200 and 300 ms into the run.
var three = Numbered{Prefix: "a", Count: 3, Due: func(i int) time.Time { return at(float64(100 * (i + 1))) }}

func TestTheVerdictOfNumberedTasksFindsLossesAndRepeats(t *testing.T) {
	type counts struct{ arrived, lost, early, repeats, strangers int }
	for name, c := range map[string]struct {
		arrivals iter.Seq2[Delivery, error]
		want     counts
	}{
		"all on time":          {deliveriesAt("a-0", 100.0, "a-1", 201.0, "a-2", 301.0), counts{arrived: 3}},
		"one lost":             {deliveriesAt("a-0", 100.0, "a-2", 301.0), counts{arrived: 2, lost: 1}},
		"one early":            {deliveriesAt("a-0", 99.999, "a-1", 201.0, "a-2", 301.0), counts{arrived: 3, early: 1}},
		"one twice":            {deliveriesAt("a-0", 101.0, "a-1", 201.0, "a-2", 301.0, "a-0", 302.0), counts{arrived: 4, repeats: 1}},
		"one of another name":  {deliveriesAt("a-0", 101.0, "a-1", 201.0, "b-2", 301.0), counts{arrived: 2, lost: 1, strangers: 1}},
		"a number there isn't": {deliveriesAt("a-0", 101.0, "a-1", 201.0, "a-3", 301.0), counts{arrived: 2, lost: 1, strangers: 1}},
		"nothing at all":       {deliveriesAt(), counts{lost: 3}},
	} {
		v, err := three.Check(c.arrivals)
		fatal.If(t, err)
		if got := (counts{v.Arrived, v.Lost.Count, v.Early.Count, v.Repeats, v.Unknown}); got != c.want {
			t.Errorf("%s: the verdict is %+v, want %+v", name, got, c.want)
		}
		if len(v.Lost.First) != v.Lost.Count || len(v.Early.First) != v.Early.Count {
			t.Errorf("%s: it names %v and %v", name, v.Lost, v.Early)
		}
	}
}

func TestOfArrivalsTheEarliestCounts(t *testing.T) {
	v, err := three.Check(deliveriesAt("a-0", 150.0, "a-0", 130.0, "a-0", 140.0, "a-1", 201.0, "a-2", 301.0)) // lines of several connections
	fatal.If(t, err)
	if got := Percentile(v.Late, 100); got != 30*time.Millisecond {
		t.Errorf("the latest was %v late, want 30 ms", got)
	}
}

func TestTheVerdictOfNumberedTasksHasTheOrderAndTheRate(t *testing.T) {
	const count = 1000
	n := Numbered{Prefix: "a", Count: count, Due: func(i int) time.Time { return at(float64(i / 2)) }}
	arrive := func(place func(i int) int) iter.Seq2[Delivery, error] {
		var lines []any
		for i := range count {
			lines = append(lines, n.Name(i), 1000+float64(place(i)))
		}
		return deliveriesAt(lines...)
	}
	for name, c := range map[string]struct {
		place func(i int) int
		worst int
	}{
		"in order":                        {func(i int) int { return i }, 0},
		"pairs that are due together":     {func(i int) int { return i ^ 1 }, 0},
		"the first came last":             {func(i int) int { return (i + count - 1) % count }, count - 2},
		"backwards":                       {func(i int) int { return count - 1 - i }, count - 2},
		"neighbours of another due place": {func(i int) int { return i ^ 2 }, 2},
	} {
		v, err := n.Check(arrive(c.place))
		fatal.If(t, err)
		if got := Percentile(v.Displaced, 100); got != c.worst {
			t.Errorf("%s: the worst is %d places away, want %d", name, got, c.worst)
		}
		if v.Rate < 990 || v.Rate > 1010 || v.Last.Sub(v.First) != (count-1)*time.Millisecond {
			t.Errorf("%s: %.0f a second from %v to %v, want one each millisecond", name, v.Rate, v.First, v.Last)
		}
	}
}

func TestArrivalsBetweenTwoInstantsAreThoseOfTheTasksAlone(t *testing.T) {
	arrivals := deliveriesAt("a-0", 99.0, "a-1", 100.0, "b-1", 150.0, "a-2", 200.0, "a-0", 201.0)
	if n, err := three.Between(arrivals, at(100), at(200)); n != 2 || err != nil {
		t.Errorf("%d came between, %v; want 2", n, err)
	}
	unreadable := func(yield func(Delivery, error) bool) { yield(Delivery{}, errors.New("no such file")) }
	if _, err := three.Between(unreadable, at(100), at(200)); err == nil {
		t.Error("a log that is not there was counted")
	}
	if _, err := three.Check(unreadable); err == nil {
		t.Error("a log that is not there has a verdict")
	}
}
