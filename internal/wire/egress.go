package wire

// Egress reports whether tasks may call a URL, as the server sees it now. Its
// addresses reveal the server's network, so it is for operators.
type Egress struct {
	URL       string          `json:"url" format:"uri"`
	Scheme    string          `json:"scheme"`
	Host      string          `json:"host"`
	Port      uint16          `json:"port"`
	Open      bool            `json:"open" doc:"Tasks may call the URL. One open address is enough."`
	Problem   string          `json:"problem,omitempty" doc:"The reason that there is no address: the host does not resolve."`
	Addresses []EgressAddress `json:"addresses" nullable:"false" doc:"The addresses of the host, as the server resolves it."`
}

// EgressAddress is the decision for one address.
type EgressAddress struct {
	Address string `json:"address"`
	Open    bool   `json:"open"`
	Reason  string `json:"reason" doc:"The reason, as a sentence."`
	Opener  string `json:"opener,omitempty" doc:"The entry of --egress-allow that opens the address, or would open it."`
}
