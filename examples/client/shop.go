package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/foliot/foliot/client"
)

// shop keeps orders in memory, in place of a database.
type shop struct {
	foliot *client.Client
	url    string // the shop's URL for Foliot
	grace  time.Duration
	mux    http.ServeMux

	mu     sync.Mutex // guards orders
	orders []order    // number 1 first
}

type order struct {
	Number int    `json:"number"`
	State  string `json:"state"` // open, paid or closed
}

func newShop(foliot *client.Client, url string, grace time.Duration) *shop {
	s := &shop{foliot: foliot, url: url, grace: grace}
	s.mux.HandleFunc("POST /orders", s.open)
	s.mux.HandleFunc("GET /orders/{number}", s.show)
	s.mux.HandleFunc("POST /orders/{number}/paid", s.paid)
	s.mux.HandleFunc("POST /orders/{number}/close", s.close)
	return s
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// task is the name of the task that closes an order.
func task(number int) string { return fmt.Sprintf("order-%d-close", number) }

// open creates an order and, before it replies, the task that will close it.
// The order's own key ensures that repeated calls create the task once, even
// after a restart.
func (s *shop) open(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	o := order{Number: len(s.orders) + 1, State: "open"}
	s.orders = append(s.orders, o)
	s.mu.Unlock()
	_, err := s.foliot.Tasks.Create(r.Context(), client.Spec{
		Name:   task(o.Number),
		Delay:  s.grace,
		HTTP:   client.HTTP{URL: fmt.Sprintf("%s/orders/%d/close", s.url, o.Number), Body: client.JSON(o)},
		Labels: map[string]string{"order": strconv.Itoa(o.Number)},
	}, client.Key(task(o.Number)))
	if err != nil {
		log.Print("client: ", err)
		http.Error(w, "the order cannot be accepted now", http.StatusServiceUnavailable)
		return
	}
	reply(w, http.StatusCreated, o)
}

// paid changes the order first, and then cancels the task. If the cancel fails
// or comes too late, close finds an order that is not open.
func (s *shop) paid(w http.ResponseWriter, r *http.Request) {
	o, ok := s.change(r, "paid")
	if !ok {
		http.Error(w, "there is no open order with that number", http.StatusConflict)
		return
	}
	done, err := s.foliot.Tasks.Cancel(r.Context(), task(o.Number))
	switch {
	case err == nil && done.UnderWay:
		log.Printf("client: order %d is paid while its callback is under way", o.Number)
	case err != nil && !errors.Is(err, client.ErrConflict) && !errors.Is(err, client.ErrNotFound):
		log.Print("client: ", err) // the callback will find a paid order
	}
	reply(w, http.StatusOK, o)
}

// close is the callback. It replies 2xx in every state of the order, because
// nothing more must be done. Otherwise Foliot would repeat the callback.
func (s *shop) close(w http.ResponseWriter, r *http.Request) {
	if o, ok := s.change(r, "closed"); ok {
		log.Printf("client: order %d was not paid in time", o.Number)
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *shop) show(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.findLocked(r); o != nil {
		reply(w, http.StatusOK, *o)
		return
	}
	http.NotFound(w, r)
}

// change gives the open order of r another state.
func (s *shop) change(r *http.Request, state string) (order, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.findLocked(r)
	if o == nil || o.State != "open" {
		return order{}, false
	}
	o.State = state
	return *o, true
}

func (s *shop) findLocked(r *http.Request) *order {
	n, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || n < 1 || n > len(s.orders) {
		return nil
	}
	return &s.orders[n-1]
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has left needs no reply
}
