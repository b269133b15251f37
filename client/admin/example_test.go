package admin_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
)

// An operator looks at the work of a server.
func ExampleNew() {
	c, err := client.FromEnv()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	live, err := admin.New(c).Live(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range live.Queues {
		fmt.Println(q.Namespace, q.Queue, q.Running, q.Overdue, q.LimitedBy)
	}
}

// A program of the namespace shop gets a token for a month.
func ExampleTokens_Create() {
	c, err := client.FromEnv()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	t, err := admin.New(c).Tokens.Create(context.Background(), admin.TokenSpec{
		Scope: admin.ScopeWrite, Namespace: "shop", Label: "web", ExpiresIn: 30 * 24 * time.Hour,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t) // its id: t.Token is the secret, which the server shows only now
}

// A queue gets a second signing secret, and the first one signs for one more day.
func ExampleSecrets_Create() {
	c, err := client.FromEnv()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	secrets := admin.New(c).Secrets
	made, err := secrets.Create(context.Background(), admin.SecretSpec{Queue: "orders", Overlap: 24 * time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(made) // its id: made.Secret is the key for the receivers
	for s, err := range secrets.List(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.ID, s.Queue, s.ExpiresAt)
	}
}
