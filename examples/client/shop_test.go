package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/foliot/foliot/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOrdersThatAreNotPaidAreClosed(t *testing.T) {
	api, err := client.New(startFoliot(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	shop := newShop(api, "http://"+l.Addr().String(), time.Second)
	go func() { ended <- serve(ctx, l, shop) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	}()

	unpaid, paid := post(t, shop.url+"/orders", 201), post(t, shop.url+"/orders", 201)
	if got := post(t, shop.url+"/orders/2/paid", 200); got.State != "paid" || paid.Number != 2 {
		t.Errorf("%+v", got)
	}
	for number, want := range map[int]client.State{unpaid.Number: client.StateDelivered, paid.Number: client.StateCancelled} {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		got, err := api.Tasks.Wait(ctx, task(number))
		cancel()
		if err != nil || got.State != want {
			t.Errorf("the task of order %d: %+v, %v, want %s", number, got, err, want)
		}
	}
	post(t, shop.url+"/orders/1/paid", 409)
	for number, want := range map[string]string{"1": "closed", "2": "paid"} {
		resp, err := http.Get(shop.url + "/orders/" + number)
		if err != nil {
			t.Fatal(err)
		}
		if got := decode(t, resp); got.State != want {
			t.Errorf("order %s is %s, want %s", number, got.State, want)
		}
	}
}

func post(t *testing.T, url string, status int) order {
	t.Helper()
	resp, err := http.Post(url, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != status {
		t.Errorf("POST %s: %s, want %d", url, resp.Status, status)
	}
	return decode(t, resp)
}

func decode(t *testing.T, resp *http.Response) (o order) {
	t.Helper()
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") == "application/json" {
		if err := json.NewDecoder(resp.Body).Decode(&o); err != nil {
			t.Fatal(err)
		}
	}
	return o
}
