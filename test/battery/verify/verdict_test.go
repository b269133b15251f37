package verify

import (
	"strconv"
	"testing"
	"time"
)

var epoch = time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)

// at returns an instant in milliseconds after the start of the run.
func at(ms float64) time.Time { return epoch.Add(time.Duration(ms * float64(time.Millisecond))) }

func promised(name string, dueMS float64) Accepted {
	return Accepted{Name: name, Due: at(dueMS), At: at(0)}
}

func callback(name string, ms float64) Arrived {
	return Arrived{Name: name, ID: "id-" + name, At: at(ms)}
}

func kill(ms float64) Fault { return Fault{Kind: "kill -9", At: at(ms)} }

// counts are the numbers of a verdict that a case compares.
type counts struct{ lost, early, afterCancel, duplicates, unexplained, mostPerFault, otherID int }

func countsOf(v Verdict) counts {
	return counts{len(v.Lost), len(v.Early), len(v.AfterCancel), v.Duplicates, len(v.Unexplained), v.MostPerFault, len(v.OtherID)}
}

func TestTheCheckerCatchesWhatItIsFor(t *testing.T) {
	for _, c := range []struct {
		name string
		e    Evidence
		want counts
	}{
		{"delivered on time", Evidence{Accepted: []Accepted{promised("a", 100)}, Arrived: []Arrived{callback("a", 101)}}, counts{}},
		{"delivered at the very instant", Evidence{Accepted: []Accepted{promised("a", 100)}, Arrived: []Arrived{callback("a", 100)}}, counts{}},
		{"lost", Evidence{Accepted: []Accepted{promised("a", 100), promised("b", 100)}, Arrived: []Arrived{callback("b", 101)}}, counts{lost: 1}},
		{"early by a microsecond", Evidence{Accepted: []Accepted{promised("a", 100)}, Arrived: []Arrived{callback("a", 99.999)}}, counts{early: 1}},
		{"a callback nobody was promised is no loss and no error", Evidence{Arrived: []Arrived{callback("unsure", 50)}}, counts{}},
		{"cancelled and silent", Evidence{Accepted: []Accepted{promised("a", 100)}, Cancelled: []Cancelled{{"a", 200, at(50)}}}, counts{}},
		{"delivered after the cancel's 200", Evidence{Accepted: []Accepted{promised("a", 100)}, Cancelled: []Cancelled{{"a", 200, at(99)}}, Arrived: []Arrived{callback("a", 101)}}, counts{afterCancel: 1}},
		{"delivered after a 202 is what a 202 says", Evidence{Accepted: []Accepted{promised("a", 100)}, Cancelled: []Cancelled{{"a", 202, at(100)}}, Arrived: []Arrived{callback("a", 101)}}, counts{}},
		{"a refused cancel does not excuse a loss", Evidence{Accepted: []Accepted{promised("a", 100)}, Cancelled: []Cancelled{{"a", 409, at(100)}}}, counts{lost: 1}},
		{"a cancel without an answer may have happened", Evidence{Accepted: []Accepted{promised("a", 100)}, Cancelled: []Cancelled{{"a", 0, at(50)}}}, counts{}},
		{"a cancel answered by a server that was stopping may have happened", Evidence{Accepted: []Accepted{promised("a", 100)}, Cancelled: []Cancelled{{"a", 503, at(50)}}}, counts{}},
		{"doubled without a fault", Evidence{Accepted: []Accepted{promised("a", 100)}, Arrived: []Arrived{callback("a", 101), callback("a", 150)}}, counts{duplicates: 1, unexplained: 1}},
		{"doubled over a kill", Evidence{Accepted: []Accepted{promised("a", 100)}, Arrived: []Arrived{callback("a", 300), callback("a", 101)}, Faults: []Fault{kill(105)}}, counts{duplicates: 1, mostPerFault: 1}},
		{"on the wire while the server died", Evidence{Accepted: []Accepted{promised("a", 100)}, Arrived: []Arrived{callback("a", 101), callback("a", 300)}, Faults: []Fault{kill(100.5)}}, counts{duplicates: 1, mostPerFault: 1}},
		{"a kill before the first arrival explains nothing", Evidence{Accepted: []Accepted{promised("a", 1000)}, Arrived: []Arrived{callback("a", 1001), callback("a", 1300)}, Faults: []Fault{kill(500)}}, counts{duplicates: 1, unexplained: 1}},
		{"a kill long after the answer explains nothing: it had to be written down by then", Evidence{Accepted: []Accepted{promised("a", 100)}, Arrived: []Arrived{callback("a", 101), callback("a", 2000)}, Faults: []Fault{kill(1500)}}, counts{duplicates: 1, unexplained: 1}},
		{"three times over one kill: only one of the two repeats is explained", Evidence{Accepted: []Accepted{promised("a", 100)}, Arrived: []Arrived{callback("a", 101), callback("a", 300), callback("a", 301)}, Faults: []Fault{kill(105)}}, counts{duplicates: 2, unexplained: 1, mostPerFault: 1}},
		{"doubled under another id", Evidence{Accepted: []Accepted{promised("a", 100)}, Arrived: []Arrived{callback("a", 101), {Name: "a", ID: "other", At: at(300)}}, Faults: []Fault{kill(105)}}, counts{duplicates: 1, mostPerFault: 1, otherID: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := countsOf(Check(c.e)); got != c.want {
				t.Errorf("the verdict is %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestDuplicatesAreCountedForEachFault(t *testing.T) {
	e := Evidence{Faults: []Fault{kill(2000), kill(1000)}}
	for i := range 10 {
		name, died := strconv.Itoa(i), 1000.0
		if i >= 7 {
			died = 2000
		}
		e.Accepted = append(e.Accepted, promised(name, died-10))
		e.Arrived = append(e.Arrived, callback(name, died-5), callback(name, died+300))
	}
	if got := countsOf(Check(e)); got != (counts{duplicates: 10, mostPerFault: 7}) {
		t.Errorf("the verdict is %+v, want 7 of 10 duplicates by the first kill", got)
	}
}

func TestLatenessIsThatOfFirstArrivals(t *testing.T) {
	var e Evidence
	for i := range 100 {
		name := strconv.Itoa(i)
		e.Accepted = append(e.Accepted, promised(name, 100))
		e.Arrived = append(e.Arrived, callback(name, 100+float64(i)), callback(name, 5000))
	}
	v := Check(e)
	for p, want := range map[float64]time.Duration{0: 0, 50: 50 * time.Millisecond, 99: 99 * time.Millisecond, 100: 99 * time.Millisecond} {
		if got := Percentile(v.Late, p); got != want {
			t.Errorf("p%v of the lateness is %v, want %v", p, got, want)
		}
	}
}
