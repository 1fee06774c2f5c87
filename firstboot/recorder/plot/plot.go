// Package plot draws what a node was busy with since yesterday, as SVG within HTML, for a page without scripts and with a policy that forbids inline styles.
//
// Each figure is a curve or two over 24 hours, a place for each quarter of an hour, from 0 to the highest that it was; a quarter without samples is a gap. The lines have the
// text's colour, so that they fit light and dark, and the second is dashed, so that nobody has to tell colours apart. What the lines say stands below in words as well. All
// is less than 10 KB.
package plot

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"grove/firstboot/recorder"
	"grove/internal/size"
)

// curve is one line of a figure.
type curve struct {
	name string
	of   func(recorder.Point) float32
}

// figure has at most two curves, which share their scale. least is what its top is at the least.
type figure struct {
	title  string
	curves []curve
	show   func(value float64) string
	least  func(recorder.Point) float32
}

func one(recorder.Point) float32 { return 1 }

var figures = []figure{
	{"Load", []curve{{"", func(p recorder.Point) float32 { return p.Load }}}, decimal, one},
	{"Processors", []curve{{"", func(p recorder.Point) float32 { return p.CPU }}}, percent, func(recorder.Point) float32 { return 100 }},
	{"Memory", []curve{{"in use", func(p recorder.Point) float32 { return p.Used }}, {"swapped", func(p recorder.Point) float32 { return p.Swap }}}, mebibytes,
		func(p recorder.Point) float32 { return p.Total }},
	{"Disks", []curve{{"read", func(p recorder.Point) float32 { return p.Read }}, {"written", func(p recorder.Point) float32 { return p.Written }}}, rate, one},
	{"Network", []curve{{"received", func(p recorder.Point) float32 { return p.In }}, {"sent", func(p recorder.Point) float32 { return p.Out }}}, rate, one},
	{"TCP connections", []curve{{"", func(p recorder.Point) float32 { return p.Sockets }}}, whole, one},
}

func decimal(v float64) string   { return strconv.FormatFloat(v, 'f', 2, 64) }
func percent(v float64) string   { return strconv.FormatFloat(v, 'f', 0, 64) + " %" }
func whole(v float64) string     { return strconv.FormatFloat(v, 'f', 0, 64) }
func mebibytes(v float64) string { return size.Size(v * float64(size.MiB)).Short() }
func rate(v float64) string      { return size.Size(v).Short() + "/s" }

// The picture, in units of its own: it is drawn as wide as there is room.
const (
	places = 96 // of 15 minutes
	step   = 3
	width  = (places - 1) * step
	height = 60
)

// Draw gives the figures of points, the oldest first, none of them older than a day.
func Draw(points []recorder.Point, now time.Time) template.HTML {
	if len(points) == 0 {
		return "<p>There is no sample yet; one is taken each minute.</p>"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<p>%s, times in UTC; the lines at 6, 12 and 18 hours ago.</p>\n", span(points[0].Time, now))
	for _, f := range figures {
		f.draw(&b, points, now)
	}
	return template.HTML(b.String())
}

func span(first, now time.Time) string {
	if now.Sub(first) > 23*time.Hour+30*time.Minute {
		return "The last 24 hours"
	}
	return "The last 24 hours, known since " + first.UTC().Format("15:04")
}

func (f figure) draw(b *strings.Builder, points []recorder.Point, now time.Time) {
	last := points[len(points)-1]
	top := float64(f.least(last))
	var words []string
	for n, c := range f.curves {
		highest := points[0]
		for _, p := range points {
			if c.of(p) > c.of(highest) {
				highest = p
			}
		}
		top = max(top, float64(c.of(highest)))
		said := fmt.Sprintf("%s now, at most %s at %s", f.show(float64(c.of(last))), f.show(float64(c.of(highest))), highest.Time.UTC().Format("15:04"))
		if c.name != "" {
			said = c.name + [2]string{"", " (dashed)"}[n] + " " + said
		}
		words = append(words, said)
	}
	text := f.title + ": " + strings.Join(words, "; ")
	fmt.Fprintf(b, "<figure><figcaption>%s</figcaption><svg role=\"img\" aria-label=\"%s since yesterday\" viewBox=\"0 0 %d %d\" width=\"100%%\" height=\"72\" preserveAspectRatio=\"none\" fill=\"none\" stroke=\"currentColor\">",
		text, f.title, width, height)
	fmt.Fprintf(b, `<path opacity=".25" vector-effect="non-scaling-stroke" d="M0 %dH%d%s"/>`, height, width, quarters())
	for n, c := range f.curves {
		fmt.Fprintf(b, `<path stroke-width="1.5"%s vector-effect="non-scaling-stroke" d="%s"/>`, [2]string{"", ` stroke-dasharray="4 3"`}[n], line(means(points, now, c.of), top))
	}
	b.WriteString("</svg></figure>\n")
}

func quarters() (d string) {
	for _, n := range []int{1, 2, 3} {
		d += fmt.Sprintf("M%d 0V%d", n*width/4, height)
	}
	return d
}

// means are those of each place, NaN where there is no sample. The last place is the quarter that ends now.
func means(points []recorder.Point, now time.Time, of func(recorder.Point) float32) (values [places]float64) {
	var counts [places]float64
	const wide = 24 * time.Hour / places
	for _, p := range points {
		at := places - 1 - int(max(0, now.Sub(p.Time))/wide)
		if at >= 0 {
			values[at] += float64(of(p))
			counts[at]++
		}
	}
	for at := range values {
		values[at] /= counts[at] // 0/0 is NaN
	}
	return values
}

// line is the path of a curve (SVG 1.1, 8.3): after the first place of a run steps relative to it, which are short. A run of one place is a dot.
func line(values [places]float64, top float64) string {
	var b strings.Builder
	before, run := 0, 0
	end := func() {
		if run == 1 {
			b.WriteString("h1")
		}
		run = 0
	}
	for at, v := range values {
		if math.IsNaN(v) {
			end()
			continue
		}
		y := height - int(math.Round(v/top*(height-2)))
		switch run++; run {
		case 1:
			fmt.Fprintf(&b, "M%d %d", at*step, y)
		case 2:
			fmt.Fprintf(&b, "l%d %d", step, y-before)
		default:
			fmt.Fprintf(&b, " %d %d", step, y-before)
		}
		before = y
	}
	end()
	return strings.ReplaceAll(b.String(), " -", "-")
}
