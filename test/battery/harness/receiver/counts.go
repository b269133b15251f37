package receiver

// Counts is the number of callbacks that a fast receiver has seen so far.
type Counts struct {
	Arrived  int `json:"arrived"`
	Signed   int `json:"signed"`   // that carried a signature
	Verified int `json:"verified"` // of the sample: signed by a secret that is known
	Rejected int `json:"rejected"` // of the sample: not signed by a known secret
}

// While the receiver knows a secret, it verifies one of sample callbacks.
const sample = 16

// RightlySigned reports whether all callbacks were signed, and all verified
// ones by a known secret.
func (c Counts) RightlySigned() bool {
	return c.Arrived > 0 && c.Signed == c.Arrived && c.Rejected == 0 && c.Verified >= c.Arrived/(2*sample)
}

// Since returns the counts since an earlier moment.
func (c Counts) Since(before Counts) Counts {
	return Counts{c.Arrived - before.Arrived, c.Signed - before.Signed, c.Verified - before.Verified, c.Rejected - before.Rejected}
}
