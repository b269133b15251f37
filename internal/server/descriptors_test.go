package server

import (
	"os"
	"reflect"
	"regexp"
	"strconv"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/server/config"
)

func TestTheStoreAlwaysHasDescriptorsLeft(t *testing.T) {
	for _, limit := range []uint64{leastDescriptors, 512, 1024, 4096, 20_000, 1 << 20, 1<<64 - 1} {
		for _, asked := range []int{1, 1024, config.MaxConcurrency} {
			d, err := shareDescriptors(limit, asked)
			if err != nil {
				t.Fatalf("limit %d: %v", limit, err)
			}
			if used := uint64(d.clients + 2*d.slots + d.idle + reserved); used > limit {
				t.Errorf("limit %d, concurrency %d: %+v and the store use %d", limit, asked, d, used)
			}
			if d.clients < 1 || d.slots < 1 || d.idle < 1 || d.slots > asked {
				t.Errorf("limit %d, concurrency %d: %+v", limit, asked, d)
			}
		}
	}
	if d, err := shareDescriptors(20_000, 1024); err != nil || d.slots != 1024 || d.idle != maxIdleConns || d.clients < 10_000 {
		t.Errorf("the defaults under a usual limit: %+v, %v", d, err)
	}
	if _, err := shareDescriptors(leastDescriptors-1, 1); err == nil {
		t.Error("a limit that leaves nothing is taken")
	}
}

// The systemd unit leaves room for the default of --concurrency.
func TestTheUnitLeavesRoomForTheAttempts(t *testing.T) {
	text, err := os.ReadFile("../../packaging/foliot.service")
	fatal.If(t, err)
	m := regexp.MustCompile(`(?m)^LimitNOFILE=(\d+)$`).FindSubmatch(text)
	if m == nil {
		t.Fatal("the unit has no LimitNOFILE")
	}
	files, err := strconv.ParseUint(string(m[1]), 10, 64)
	fatal.If(t, err)
	flag, _ := reflect.TypeFor[config.Flags]().FieldByName("Concurrency")
	concurrency, err := strconv.Atoi(flag.Tag.Get("default"))
	fatal.If(t, err)
	if d, err := shareDescriptors(files, concurrency); err != nil || d.slots != concurrency || d.clients < 16_000 {
		t.Errorf("%d open files are room for %+v: %v", files, d, err)
	}
}
