package contender

import "time"

// rounds visits each of n connections once in each round.
type rounds struct {
	n     int
	every time.Duration // duration of a round
	start time.Time
	done  int64 // visits

	length, stride int // of the part of a round that was visited last
}

// until makes the visits that are due until a time after the start.
func (r *rounds) until(end time.Duration, visit func(conn uint32)) {
	for elapsed := time.Since(r.start); ; elapsed = time.Since(r.start) {
		r.visit(int(r.due(min(elapsed, end))-r.done), visit)
		if elapsed >= end {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// visit makes n visits at once.
func (r *rounds) visit(n int, visit func(conn uint32)) {
	for range n {
		visit(uint32(r.place(r.done)))
		r.done++
	}
}

func (r *rounds) due(elapsed time.Duration) int64 {
	return int64(float64(r.n) * float64(elapsed) / float64(r.every))
}

// place returns the connection for a visit. Each third of the connections has
// its third of a round, in another order each time. So the time between two
// visits is two thirds to four thirds of a round.
func (r *rounds) place(visit int64) int {
	round, at := int(visit/int64(r.n)), int(visit%int64(r.n))
	third := r.n/3 + 1
	first := at - at%third
	if length := min(third, r.n-first); length != r.length {
		r.length, r.stride = length, stride(length)
	}
	return first + ((at-first)*r.stride+round*7919)%r.length
}

// stride returns a number that shares no factor with n, so that its multiples
// visit everything below n.
func stride(n int) int {
	for s := n*5/8 | 1; ; s += 2 {
		if gcd(s, n) == 1 {
			return s
		}
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
