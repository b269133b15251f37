// Package client speaks to a Foliot server: call this URL at this time.
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
// The words are those of the HTTP API, and so are the meanings: docs/api.md has them. A method that changes something
// returns nil when the change is durable.
//
// # Types
//
// The API writes instants and durations as strings, leaves out what has its default, and tells 0 from absent. Go has
// better words for that, so the types here are its own: time.Time and time.Duration, zero values for defaults, and [Unlimited]
// or [Forever] where the API's 0 means that there is no limit. [Spec] and [Task] marshal to the API's JSON and back, so that what is
// written to a file is what the API, the command line and other languages read.
//
// # Errors
//
// An [*Error] is the server's refusal; [errors.Is] compares its code with [ErrNotFound], [ErrExists], [ErrPrecondition] and others.
// A [*TransportError] says that no answer came. [MaybeApplied] reports whether the call may have been carried out although it
// returned an error: then a look at the task tells, or the same call again where that is harmless.
//
// # Retries
//
// Calls are repeated by themselves, after a pause with jitter, where no connection could be made, no answer came, or the server
// was too busy (429, 502, 503, 504). Only what may be carried out twice is repeated after a request that may have
// arrived:
//
//   - what reads: Get, Poll, Wait, Page, List, Preview;
//   - Create, Put of a task, Publish and Trigger: they carry an Idempotency-Key, made for each call, by which the server recognises the repeat and answers with the
//     task that the first one made;
//   - Backfill, which makes nothing twice;
//   - Pause and Resume of a queue, Revoke and ForceRevoke of a token;
//   - Put of a schedule, a queue or a namespace, Cancel, Touch, and Pause and Resume of a schedule, without a condition: they say what is to be, not
//     how to get there.
//
// Everything else (Patch, Run, Retry, CreateBatch, the changes of many, Purge, what makes a token or a secret, what deletes, and every call with
// a [Condition] but Put of a task, whose repeat would fail because of its own success) is repeated only when it certainly was not carried out: no connection could be made, or the server said 429.
// Retry-After is obeyed. Context and [RetryPolicy] bound it all: what would not be tried before the context's deadline returns at once.
//
// # Tokens
//
// The token is sent to the server that New was given and to no other: redirects are not followed. It appears in no error.
package client
