// Package client calls a Foliot server: "call this URL at this time".
//
//	c, err := client.New("http://127.0.0.1:8750", client.Options{Token: token})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	t, err := c.Tasks.Create(ctx, client.Spec{
//		Name:  "order-42-close",
//		Delay: 30 * time.Minute,
//		HTTP:  client.HTTP{URL: "https://shop.example/orders/42/close", Body: client.JSON(order)},
//	})
//
// The words and their meanings are those of the HTTP API: see docs/api.md. A
// method that changes something returns nil when the change is durable. The
// calls of operators are in package client/admin.
//
// # Types
//
// The API writes times and durations as strings, omits fields that have their
// default, and distinguishes 0 from absent. The types here use Go's terms:
// time.Time and time.Duration, and a zero field means the default: the queue's,
// or if the queue sets none the server's. If a field can also mean "no limit", it
// has a type of its own with a constant for it: [Limit] with [Unlimited],
// [Duration] with [Forever]. A task or a schedule in a reply has no defaults, so
// it can be created again from its Spec. Types with a MarshalJSON method, such as
// [Spec] and [Task], marshal to the API's JSON and back, so other programs can
// read the files they are written to.
//
// # Options of a call
//
// A [CallOption] sets what a call needs beyond its arguments: an idempotency key
// with [Key], conditions with [IfMatch] and [IfNoneMatch], an expected number of
// tasks with [Expect], the end of a pause with [Until]. The comment of each call
// lists those that it takes.
//
// # Many calls
//
// Calls of Create, Put, Cancel and Touch that are made at once share requests, so
// programs with many goroutines make several times as many calls a second. Each
// call keeps its own result: see [Options.NoBatching]. [Tasks.CreateMany],
// [Tasks.PutMany] and [Tasks.CancelMany] do this for a list.
//
// # Errors
//
// An [*Error] is returned if the server refused the call. [errors.Is] compares
// its code with [ErrNotFound], [ErrExists], [ErrPrecondition] and the other
// sentinels. A [*TransportError] is returned if no reply came. [MaybeApplied]
// reports whether the server may have applied the call although it returned an
// error. In that case read the task, or repeat the call if that is harmless.
//
// # Retries
//
// The client repeats a call, after a pause with jitter, if no connection could
// be made, no reply came, or the server was too busy (429, 502, 503, 504).
// After a request that may have arrived, it repeats only calls that can be
// applied twice without harm: reads, calls with an Idempotency-Key, and changes
// that name the wanted state, unless they have a condition. docs/clients.md
// lists them. It repeats all other calls only if the server certainly did not
// apply them, because no connection could be made, or the reply was 429. A backup
// is never repeated.
//
// The client obeys Retry-After, and the context and [RetryPolicy] bound the
// whole call. If the context's deadline would pass before the next request, the
// call returns at once with an error that wraps context.DeadlineExceeded and
// the error of the last request.
//
// # Tokens
//
// The token is sent to the server that New was given and to no other, because
// redirects are not followed. No error contains it.
package client
