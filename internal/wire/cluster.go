package wire

// Cluster describes the servers and the durability of their store.
type Cluster struct {
	Store      string `json:"store" enum:"embedded,shared" doc:"embedded: this server has a store of its own and is the only node. shared: the nodes share a store."`
	Shards     int    `json:"shards,omitempty" doc:"The number of shards of a shared store."`
	Nodes      []Node `json:"nodes" nullable:"false" doc:"In the order of their names. A node that ended without notice stays in the list, not ready, for an hour."`
	Durability string `json:"durability" doc:"The loss that changes survive. memory: none. synced: a power loss. async, default and strict: the levels of a shared store."`
	Secured    bool   `json:"secured" doc:"Requests need a token."`
}

type Node struct {
	Name      string `json:"name,omitempty" doc:"The node name, for a shared store."`
	Self      bool   `json:"self,omitempty" doc:"This node sent the reply."`
	Address   string `json:"address,omitempty" example:"10.0.0.7:8080" doc:"The address of its API, by its own report."`
	Version   string `json:"version"`
	StartedAt string `json:"started_at" format:"date-time"`
	Uptime    string `json:"uptime" pattern:"duration" example:"36h4m"`
	Ready     bool   `json:"ready" doc:"For the node that sent the reply: it accepts requests. For others: their last heartbeat is recent."`

	LastSeenAt string `json:"last_seen_at,omitempty" format:"date-time" doc:"The last heartbeat of a node of a shared store."`
	Draining   bool   `json:"draining,omitempty" doc:"It must not own shards. It finishes its attempts and still serves this API."`
	Owned      *int   `json:"owned,omitempty" doc:"The number of shards that it owns. Only the owner delivers the tasks of a shard."`
	Wanted     *int   `json:"wanted,omitempty" doc:"The number of shards that it should own now."`
	NameTaken  bool   `json:"name_taken,omitempty" doc:"Another live process had this node name first. This one owns no shards and is not ready. Start it with another --node."`
}

// Examination holds the findings of a server about its store and its
// TLS files.
type Examination struct {
	Findings []Finding `json:"findings" nullable:"false"`
}

type Finding struct {
	Check string `json:"check" example:"fit"`
	OK    bool   `json:"ok"`
	Says  string `json:"says" doc:"A sentence for people, with the remedy if ok is false."`

	Warning bool `json:"warning,omitempty" doc:"true: ok is false, but the server works."`
}

type Shard struct {
	Shard   int    `json:"shard" doc:"The number of the shard, from 0."`
	Owner   string `json:"owner,omitempty" doc:"The node that delivers its tasks. Absent: none, until a node takes the shard."`
	Until   string `json:"until,omitempty" format:"date-time" doc:"The end of the owner's lease, unless it is renewed. After it another node may take the shard."`
	Epoch   uint64 `json:"epoch" doc:"How often a node has taken the shard."`
	NextDue string `json:"next_due,omitempty" format:"date-time" doc:"No scheduled task of the shard is due earlier. Absent: it has none."`
	Running int    `json:"running" doc:"The number of running tasks. Each has an attempt that is, or may be, under way."`
}
