package agent

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"grove/firstboot/recorder"
)

func (n *bench) samples() (all []recorder.Sample) {
	n.t.Helper()
	w := httptest.NewRecorder()
	n.agent.samples().ServeHTTP(w, httptest.NewRequest("GET", "/samples.json", nil))
	if err := json.Unmarshal(w.Body.Bytes(), &all); w.Code != 200 || err != nil {
		n.t.Fatalf("%d, %v: %s", w.Code, err, w.Body)
	}
	return all
}

func TestSamplesGoOnWithTheNextAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.file("proc/sys/kernel/random/boot_id", "aaaaaaaa-1111\n")
		n.file("proc/loadavg", "0.50 0.1 0.1 1/90 300\n")
		n.begin()
		pass(3*time.Minute + 10*time.Second)
		n.leave()
		n.begin()
		pass(2*time.Minute + 10*time.Second)
		all := n.samples()
		if len(all) != 5 || all[0].Load != 0.5 || all[4].Uptime <= all[0].Uptime {
			t.Errorf("got %+v; want 5 samples", all)
		}
		if text := string(n.agent.plots()); !strings.Contains(text, "Load: 0.50 now") {
			t.Errorf("the page has\n%s", text)
		}
		n.leave()
		if files, err := os.ReadDir(n.root + "/state/grove/samples"); err != nil || len(files) != 1 {
			t.Errorf("on the state partition: %v, %v", files, err)
		}
	})
}

func TestSamplesOfANodeWithoutAState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.machine.Broken = map[string]error{n.root + "/dev/vda2": errors.New("bad superblock")}
		n.agent = &Agent{Machine: n.machine}
		if text := string(n.agent.plots()); !strings.Contains(text, "no sample yet") {
			t.Errorf("before anything is known the page has\n%s", text)
		}
		w := httptest.NewRecorder()
		if n.agent.samples().ServeHTTP(w, httptest.NewRequest("GET", "/samples.json", nil)); w.Code != 503 {
			t.Errorf("before the state was mounted: got %d", w.Code)
		}
		n.begin()
		pass(2*time.Minute + 10*time.Second)
		if got := len(n.samples()); got != 2 {
			t.Errorf("got %d samples; want 2", got)
		}
		n.leave()
		if _, err := os.Stat(n.root + "/state/grove"); !os.IsNotExist(err) {
			t.Errorf("they are where nothing is mounted: %v", err)
		}
	})
}
