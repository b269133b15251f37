package client

// Kind is the behaviour of a peer.
type Kind uint8

// The kinds. All except the slow drips talk until Hush, and the talking ones
// continue. None ever closes.
const (
	Talking  Kind = iota
	Dripping      // a byte shortly before each timeout, and never a whole line
	Silent        // it sends no more
	Frozen        // its whole process is stopped, and its kernel still acknowledges
	Ponging       // it sends pongs without pings, and nothing else
	Deaf          // it requests more than it reads, and continues to request
	Kinds    = iota
)

func (k Kind) String() string {
	return [...]string{"talking", "slow drip", "silent", "frozen process", "pongs alone", "never reads"}[k]
}

// Alive reports whether the peer must be kept.
func (k Kind) Alive() bool { return k <= Dripping }
