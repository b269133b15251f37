package wire

// Cluster says which servers there are, and how they keep what they are told.
type Cluster struct {
	Store      string `json:"store" enum:"embedded,shared" doc:"embedded: this server has its store for itself, and is the only node. shared: the nodes share one."`
	Shards     int    `json:"shards,omitempty" doc:"Into how many parts a shared store is divided."`
	Nodes      []Node `json:"nodes" nullable:"false" doc:"In the order of their names. One that ended without a word stays for a while."`
	Durability string `json:"durability" doc:"What survives: memory, nothing; synced, a power loss; async, default and strict are the levels of a shared store."`
	Secured    bool   `json:"secured" doc:"Requests need a token."`
}

// Node is one server.
type Node struct {
	Name      string `json:"name,omitempty" doc:"Of a shared store: what others call it."`
	Self      bool   `json:"self,omitempty" doc:"It is the one that answers."`
	Address   string `json:"address,omitempty" example:"10.0.0.7:8080" doc:"Where it serves this API, as it says."`
	Version   string `json:"version"`
	StartedAt string `json:"started_at" format:"date-time"`
	Uptime    string `json:"uptime" pattern:"duration" example:"36h4m0s"`
	Ready     bool   `json:"ready" doc:"Of the one that answers: it takes requests. Of others: they were heard of just now."`

	LastSeenAt string `json:"last_seen_at,omitempty" format:"date-time" doc:"The last heartbeat of a node of a shared store."`
	Draining   bool   `json:"draining,omitempty" doc:"It is to own no shards: it finishes what it has begun, and serves this API."`
	Owned      *int   `json:"owned,omitempty" doc:"How many shards it owns: it alone delivers their tasks."`
	Wanted     *int   `json:"wanted,omitempty" doc:"How many it is to own, as things stand."`
	NameTaken  bool   `json:"name_taken,omitempty" doc:"Another process has its name, had it before, and was heard of just now: this one owns no shards, and is not ready. Start it with a --node of its own."`
}

// ShardList is all shards of a shared store.
type ShardList struct {
	Shards []Shard `json:"shards" nullable:"false"`
}

// Examination holds the findings of a server about its shared store.
type Examination struct {
	Findings []Finding `json:"findings" nullable:"false"`
}

// Finding is one thing that was examined.
type Finding struct {
	Check string `json:"check" example:"fit"`
	OK    bool   `json:"ok"`
	Says  string `json:"says" doc:"For people: the finding, and the remedy if it is not ok."`
}

// Shard is a part of all tasks.
type Shard struct {
	Shard   int    `json:"shard" doc:"Its number, from 0."`
	Owner   string `json:"owner,omitempty" doc:"The node that delivers its tasks. Absent: none, until somebody takes it over."`
	Until   string `json:"until,omitempty" format:"date-time" doc:"When the owner's lease ends, unless that is renewed. From then on another node may take the shard."`
	Epoch   uint64 `json:"epoch" doc:"How often it has changed hands, or was taken again."`
	NextDue string `json:"next_due,omitempty" format:"date-time" doc:"Its earliest scheduled task is not due before that. Absent: it has none."`
	Running int    `json:"running" doc:"Tasks of which an attempt is, or may be, under way."`
}
