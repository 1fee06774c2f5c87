package sight

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"grove/firstboot/recorder"
)

// kept are the samples that can be had.
func (n *bench) kept() (all []recorder.Sample) {
	n.t.Helper()
	w := httptest.NewRecorder()
	n.samples().ServeHTTP(w, httptest.NewRequest("GET", "/samples.json", nil))
	if err := json.Unmarshal(w.Body.Bytes(), &all); w.Code != 200 || err != nil {
		n.t.Fatalf("%d, %v: %s", w.Code, err, w.Body)
	}
	return all
}

// sample has samples taken for a while.
func (n *bench) sample(d time.Duration, look func()) {
	n.while(n.Record, func() {
		time.Sleep(d)
		synctest.Wait()
		look()
	})
}

func TestSamplesGoOnWithTheNextAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.file("proc/sys/kernel/random/boot_id", "aaaaaaaa-1111\n")
		n.file("proc/loadavg", "0.50 0.1 0.1 1/90 300\n")
		n.sample(3*time.Minute+10*time.Second, func() {})
		n.again()
		n.sample(2*time.Minute+10*time.Second, func() {
			all := n.kept()
			if len(all) != 5 || all[0].Load != 0.5 || all[4].Uptime <= all[0].Uptime {
				t.Errorf("got %+v; want 5 samples", all)
			}
			if text := string(n.plots()); !strings.Contains(text, "Load: 0.50 now") {
				t.Errorf("the page has\n%s", text)
			}
		})
		if files, err := os.ReadDir(n.root + "/state/grove/samples"); err != nil || len(files) != 1 {
			t.Errorf("on the state partition: %v, %v", files, err)
		}
	})
}

func TestSamplesOfANodeWithoutAState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.mounted = false
		if text := string(n.plots()); !strings.Contains(text, "no sample yet") {
			t.Errorf("before anything is known the page has\n%s", text)
		}
		w := httptest.NewRecorder()
		if n.samples().ServeHTTP(w, httptest.NewRequest("GET", "/samples.json", nil)); w.Code != 503 {
			t.Errorf("before the state was mounted: got %d", w.Code)
		}
		n.sample(2*time.Minute+10*time.Second, func() {
			if got := len(n.kept()); got != 2 {
				t.Errorf("got %d samples; want 2", got)
			}
		})
		if _, err := os.Stat(n.root + "/state/grove"); !os.IsNotExist(err) {
			t.Errorf("they are where nothing is mounted: %v", err)
		}
	})
}
