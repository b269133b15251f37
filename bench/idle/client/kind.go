package client

// Kind is how a peer behaves.
type Kind uint8

// The kinds. All but the dripping ones talk until they are hushed, and the talking ones go on. None ever closes.
const (
	Talking  Kind = iota
	Dripping      // a byte shortly before each timeout, and never a whole line
	Silent        // it says nothing any more
	Frozen        // the whole process is stopped, and its kernel goes on acknowledging
	Ponging       // it answers pings that nobody sent, and says nothing else
	Deaf          // it asks for more than it reads, and goes on asking
	Kinds    = iota
)

func (k Kind) String() string {
	return [...]string{"talking", "slow drip", "silent", "frozen process", "pongs alone", "never reads"}[k]
}

// Alive tells whether the peer must be kept.
func (k Kind) Alive() bool { return k <= Dripping }
