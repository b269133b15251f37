package peer

// Info describes an implementation.
type Info struct {
	Name  string // on the command line and in the raw results
	Title string // in tables
	What  string // a sentence of description
	Ours  bool
}

// Names of implementations on the command line and in the raw results.
const (
	None          = "none"
	Time          = "time"
	GoZero        = "go-zero"
	Heap          = "heap"
	Rounds        = "rounds"
	Hands         = "hands"
	Buckets       = "buckets"
	Foliot        = "foliot"
	FoliotKeyed   = "foliot-keyed"
	FoliotTimers  = "foliot-timers"
	FoliotReset   = "foliot-reset"
	FoliotPointer = "foliot-pointer"
	FoliotInline  = "foliot-inline"
	FoliotBatch   = "foliot-batch"
)

// All lists the implementations in the order of the tables.
var All = []Info{
	{
		Name: Time, Title: "package time",
		What: "`time.AfterFunc`, `Stop`, `Reset`: a 4-ary heap for each processor, in the runtime.",
	},
	{
		Name: GoZero, Title: "go-zero TimingWheel",
		What: "`core/collection.TimingWheel`, 6000 slots of 10 ms: a hashed wheel with rounds, keyed, behind channels.",
	},
	{
		Name: Heap, Title: "sorted heap",
		What: "A binary heap under one lock, as Java's `Timer`; a removed timer leaves it at once.",
	},
	{
		Name: Rounds, Title: "hashed wheel, rounds",
		What: "65,536 slots of 1 ms and a count of turns in each timer, as Netty's `HashedWheelTimer`.",
	},
	{
		Name: Hands, Title: "four-hand clock",
		What: "Rings of seconds, minutes, hours and days, over one of 1000 ms.",
	},
	{
		Name: Buckets, Title: "hierarchy, delay queue",
		What: "Wheels of 20 slots from 1 ms up and a heap of their buckets, as Kafka's `SystemTimer`.",
	},
	{
		Name: Foliot, Title: "Foliot", Ours: true,
		What: "`wheel.New` with the zero `Config` and an 8-byte value; a heartbeat is `Extend`.",
	},
	{
		Name: FoliotKeyed, Title: "Foliot, Keyed", Ours: true,
		What: "`wheel.Keyed`: `Set`, `Remove`, and `Move` as a heartbeat.",
	},
	{
		Name: FoliotTimers, Title: "Foliot, Timers", Ours: true,
		What: "`wheel.Timers`: `AfterFunc`, `Stop`, `Reset` as of package time.",
	},
	{
		Name: FoliotReset, Title: "Foliot, Reset", Ours: true,
		What: "`wheel.New` again, but a heartbeat is `Reset`, which may also make a timer earlier.",
	},
	{
		Name: FoliotPointer, Title: "Foliot, pointers", Ours: true,
		What: "`wheel.New` again, with a pointer to 16 bytes as the value, which the garbage collector has to scan.",
	},
	{
		Name: FoliotInline, Title: "Foliot, Inline", Ours: true,
		What: "`wheel.New` with `Run: wheel.Inline`.",
	},
	{
		Name: FoliotBatch, Title: "Foliot, NewBatch", Ours: true,
		What: "`wheel.NewBatch` with `Run: wheel.Inline`.",
	},
	{
		Name: None, Title: "harness alone",
		What: "The loop of the harness around calls that do nothing. It is part of every figure.",
	},
}

// Find returns the description of an implementation, and whether it exists.
func Find(name string) (Info, bool) {
	for _, p := range All {
		if p.Name == name {
			return p, true
		}
	}
	return Info{}, false
}
