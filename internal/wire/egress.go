package wire

// Egress is whether tasks may call a URL, as the server sees it now. Its addresses
// tell of the server's network: it is for operators.
type Egress struct {
	URL       string          `json:"url" format:"uri"`
	Scheme    string          `json:"scheme"`
	Host      string          `json:"host"`
	Port      uint16          `json:"port"`
	Open      bool            `json:"open" doc:"Tasks may call it: one open address is enough."`
	Problem   string          `json:"problem,omitempty" doc:"Why there is no address: the host does not resolve."`
	Addresses []EgressAddress `json:"addresses" nullable:"false" doc:"What the host is or resolves to on the server."`
}

// EgressAddress is the verdict on one address.
type EgressAddress struct {
	Address string `json:"address"`
	Open    bool   `json:"open"`
	Reason  string `json:"reason" doc:"Why, in words."`
	Opener  string `json:"opener,omitempty" doc:"What --egress-allow must name to open it, or what it names that opens it."`
}
