// Package remote creates tasks over HTTP in another program that serves package
// foliot/admin. Only programs that import it link the HTTP client.
//
//	c, err := client.New("https://shop.example/timers", client.Options{})
//	...
//	timers := remote.New(c)
//	_, err = closeOrder.In(ctx, timers, "close-42", 30*time.Minute, Order{ID: "42"})
package remote
