package replset

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// orders is how many of the twenty are tried; a test that is run by hand may want one.
func orders(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("GROVE_TEST_ORDERS")); err == nil {
		return n
	}
	return 20
}

func TestAnyOrderOfStartsEndsInOneSet(t *testing.T) {
	for seed := range orders(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(seed), 4))
			r := newRig(t, hosts(3)...)
			var all sync.WaitGroup
			delays := make([]time.Duration, len(r.nodes))
			for i, n := range r.nodes {
				switch seed % 4 { // all at once, within a second, within seconds, one minutes later than the others would like
				case 1:
					delays[i] = time.Duration(random.IntN(1000)) * time.Millisecond
				case 2:
					delays[i] = time.Duration(random.IntN(8000)) * time.Millisecond
				case 3:
					delays[i] = time.Duration(random.IntN(30)) * time.Second
				}
				all.Go(func() { time.Sleep(delays[i]); n.up() })
			}
			all.Wait()
			began := time.Now()
			r.until(2*time.Minute, r.gathered)
			t.Logf("delays %v: one set %.1f s after the last start", delays, time.Since(began).Seconds())
		})
	}
}
