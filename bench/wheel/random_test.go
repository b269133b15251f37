package wheel

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// random is the generator xorshift64*. A number takes a nanosecond. The state
// must not be 0.
type random uint64

func (r *random) next() uint64 {
	x := uint64(*r)
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*r = random(x)
	return x * 0x2545F4914F6CDD1D
}

// below returns a number from 0 to n-1.
func (r *random) below(n int) int {
	high, _ := bits.Mul64(r.next(), uint64(n))
	return int(high)
}

// delays are drawn before the measurement, so that it does not include the
// drawing. They are 5 to 60 minutes, so that no timer fires during it.
var delays = func() (ds [1 << 12]time.Duration) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range ds {
		ds[i] = 5*time.Minute + time.Duration(r.Int64N(int64(55*time.Minute)))
	}
	return ds
}()

func delay(i int) time.Duration { return delays[i&(len(delays)-1)] }
