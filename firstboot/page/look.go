package page

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
	"time"

	"grove/firstboot/status"
	"grove/internal/size"
)

// view is what the template shows: the status, shortened and put in order.
type view struct {
	status.Status
	Name    string
	Style   template.CSS
	Mood    string // of the phase: good, busy, bad
	Now     string // empty while the node does not know the date
	Left    int    // entries that are not shown
	Ours    []status.Tuned
	Others  []status.Tuned // what was right before, or is not there
	Absent  int            // of them
	Lines   []entry        // of mongod's log
	Rooms   []room
	Plots   template.HTML
	Metrics bool // there are some
	Samples bool
}

// room is a file system, how full it is, and on what.
type room struct {
	status.Room
	On      string
	Options string
	Percent int64 // used
}

// The longest lists that are shown, and the longest sentence, in bytes: together they keep the page below 100 KB.
const (
	longList     = 10
	longEvidence = 4
	longTuning   = 50
	longRight    = 30 // of settings that were right before
	longText     = 300
)

// look makes the view.
func look(s status.Status, log string, now time.Time) view {
	v := view{Status: s, Name: cmp.Or(s.Node, "a node without a name"), Style: template.CSS(styleText), Mood: mood(s.Phase)}
	if !s.Clock.Guessed {
		v.Now = now.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	for _, t := range s.Tuning.Values {
		if t.State == "same" || t.State == "absent" {
			v.Others = append(v.Others, t)
		} else {
			v.Ours = append(v.Ours, t)
		}
		if t.State == "absent" {
			v.Absent++
		}
	}
	v.Rooms = rooms(s)
	v.shorten()
	v.Lines = entries(log)
	return v
}

func mood(phase string) string {
	switch phase {
	case "serving":
		return "good"
	case "starting", "stopping":
		return "busy"
	}
	return "bad"
}

// shorten cuts what may be long, and counts it.
func (v *view) shorten() {
	for _, list := range []*[]string{&v.Problems, &v.Storage.Plan, &v.Storage.Done, &v.Storage.Waits, &v.Storage.Notes, &v.Tuning.Differs, &v.Clock.Poor, &v.Set.Drift} {
		v.Left += first(list, longList)
		for i, text := range *list {
			(*list)[i] = cut(text, longText)
		}
	}
	v.Left += first(&v.Ours, longTuning) + first(&v.Others, longRight) + first(&v.Storage.Refused, longList) + first(&v.Storage.Swap, longList) + first(&v.Storage.Arrays, longList) +
		first(&v.Rooms, longList) + first(&v.Network.Links, longList) + first(&v.Tuning.Warnings, longList) + first(&v.SSH.Keys, longList) + first(&v.Storage.Swaps, longList) + first(&v.Set.Checked, longTuning)
	v.Set.Text = cut(v.Set.Text, longText)
	for _, list := range [][]status.Refusal{v.Storage.Refused, v.Storage.Swap} {
		for i := range list {
			r := &list[i]
			v.Left += first(&r.Evidence, longEvidence)
			r.Sentence, r.Command = cut(r.Sentence, longText), cut(r.Command, longText)
			for j, text := range r.Evidence {
				r.Evidence[j] = cut(text, longText)
			}
		}
	}
}

// first keeps the first entries and tells how many it dropped.
func first[T any](list *[]T, most int) (left int) {
	left = max(0, len(*list)-most)
	*list = (*list)[:len(*list)-left]
	return left
}

// rooms joins what is known of the file systems: how full, and what is mounted.
func rooms(s status.Status) (all []room) {
	for _, r := range s.Space {
		one := room{Room: r}
		if r.Size > 0 {
			one.Percent = 100 - 100*r.Free/r.Size
		}
		if i := slices.IndexFunc(s.Storage.Mounts, func(m status.Mount) bool { return m.Target == r.Mount }); i >= 0 {
			m := s.Storage.Mounts[i]
			one.On, one.Options = m.Type+" on "+m.Device, m.Options
		}
		if r.Mount == "/state" && s.State.Device != "" {
			one.On = "ext4 on " + s.State.Device
		}
		all = append(all, one)
	}
	for _, m := range s.Storage.Mounts {
		if !slices.ContainsFunc(s.Space, func(r status.Room) bool { return r.Mount == m.Target }) {
			all = append(all, room{Room: status.Room{Mount: m.Target}, On: m.Type + " on " + m.Device, Options: m.Options})
		}
	}
	return all
}

// Bytes is a size in a person's words.
func (view) Bytes(n int64) string { return size.Size(n).Short() }

// Ago is how long ago an uptime was.
func (v view) Ago(uptime float64) string { return span(v.Updated - uptime) }

// Up is how long the node has been up.
func (v view) Up() string { return span(v.Updated) }

// In is how long it is until an uptime.
func (v view) In(uptime float64) string { return span(uptime - v.Updated) }

// List is several words in a line.
func (view) List(words []string) string { return strings.Join(words, ", ") }

// Offset is the clock's error.
func (view) Offset(seconds float64) string { return fmt.Sprintf("%+.1f ms", seconds*1000) }

// span is a time in its two largest units.
func span(seconds float64) string {
	s := max(0, int64(seconds))
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	case s < 24*3600:
		return fmt.Sprintf("%d h %d min", s/3600, s/60%60)
	}
	return fmt.Sprintf("%d d %d h", s/86400, s/3600%24)
}

// cut shortens a text to a number of bytes as HTML has them.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "?")
	for at, r := range text {
		if most -= len(html.EscapeString(string(r))); most < 0 {
			return text[:at] + " …"
		}
	}
	return text
}
