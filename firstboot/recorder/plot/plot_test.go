package plot

import (
	"encoding/xml"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"grove/firstboot/recorder"
)

var now = time.Date(2026, 5, 2, 12, 0, 0, 0, time.UTC)

func TestLine(t *testing.T) {
	at := func(values map[int]float64) (all [places]float64) {
		for n := range all {
			all[n] = math.NaN()
		}
		for n, v := range values {
			all[n] = v
		}
		return all
	}
	for _, c := range []struct {
		name   string
		values map[int]float64
		want   string
	}{
		{"nothing", nil, ""},
		{"a dot", map[int]float64{2: 0}, "M6 60h1"},
		{"from the bottom to the top and back", map[int]float64{0: 0, 1: 10, 2: 0}, "M0 60l3-58 3 58"},
		{"a gap", map[int]float64{0: 0, 1: 0, 3: 5, 95: 10}, "M0 60l3 0M9 31h1M285 2h1"},
	} {
		if got := line(at(c.values), 10); got != c.want {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
	}
}

func TestMeansAreOfQuartersOfAnHour(t *testing.T) {
	load := func(minutesAgo int, load float32) recorder.Point {
		return recorder.Point{Time: now.Add(-time.Duration(minutesAgo) * time.Minute), Load: load}
	}
	got := means([]recorder.Point{load(24*60, 9), load(24*60-1, 5), load(20, 7), load(14, 1), load(0, 3), load(-1, 5)}, now, func(p recorder.Point) float32 { return p.Load })
	for at, want := range map[int]float64{0: 5, 94: 7, 95: 3} {
		if got[at] != want {
			t.Errorf("place %d: got %v; want %v", at, got[at], want)
		}
	}
	if !math.IsNaN(got[50]) {
		t.Errorf("where there is no sample: got %v", got[50])
	}
}

// busy is a whole day of figures that go up and down as much as they can.
func busy() (points []recorder.Point) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 24 * 60 {
		f := func(most float32) float32 { return random.Float32() * most }
		points = append(points, recorder.Point{Time: now.Add(time.Duration(n-24*60+1) * time.Minute), Load: f(9), CPU: f(100), Used: f(2000), Total: 2048, Swap: f(500), Read: f(1e8),
			Written: f(1e8), In: f(1e8), Out: f(1e8), Sockets: f(3000)})
	}
	return points
}

func TestDayIsWellFormedAndSmall(t *testing.T) {
	text := string(Draw(busy(), now))
	if len(text) > 10_000 {
		t.Errorf("%d bytes; want less than 10,000", len(text))
	}
	for d := xml.NewDecoder(strings.NewReader("<div>" + text + "</div>")); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(text, "<figure>"); n != len(figures) || strings.Contains(text, "NaN") || strings.Contains(text, "style=") {
		t.Errorf("got %d figures in\n%s", n, text)
	}
}

func TestWordsSayWhatTheLinesDo(t *testing.T) {
	points := []recorder.Point{{Time: now.Add(-3 * time.Hour), Load: 2.5, Read: 3 << 20, Total: 2048, Used: 512}, {Time: now, Load: 0.25, Total: 2048, Used: 256, Swap: 1, Sockets: 4}}
	text := string(Draw(points, now))
	for _, want := range []string{"The last 24 hours, known since 09:00", "Load: 0.25 now, at most 2.50 at 09:00", "Memory: in use 256 MiB now, at most 512 MiB at 09:00; swapped (dashed) 1 MiB now, at most 1 MiB at 12:00",
		"Disks: read 0 B/s now, at most 3 MiB/s at 09:00; written (dashed) 0 B/s now", "TCP connections: 4 now"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

func TestWithoutASample(t *testing.T) {
	if got := string(Draw(nil, now)); !strings.Contains(got, "no sample yet") {
		t.Errorf("got %q", got)
	}
}
