package admin_test

import (
	"context"
	"log"
	"net/http"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/admin"
	"github.com/foliot/foliot/foliottest"
)

// Operators with a cookie of the program see the tasks at /timers/ui/, and other
// programs create tasks at /timers/v1/.
func ExampleNew() {
	node, err := foliot.Open(context.Background(), foliottest.Store(), new(foliot.Mux), foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()

	isOperator := func(*http.Request) bool { return false } // checks the cookie
	timers := admin.New(node, func(r *http.Request) admin.Access {
		if !isOperator(r) {
			return admin.None
		}
		return admin.Admin
	})
	defer timers.Close()
	http.Handle("/timers/", http.StripPrefix("/timers", timers))
}
