package agent

import (
	"time"

	"grove/firstboot/clock"
)

func (a *Agent) openClock() {
	a.clock = &clock.Site{Machine: a.Machine, Root: a.Root, Image: time.Unix(a.image.Time, 0), Ask: a.Wire.Time, Node: a.voice.On("clock")}
	a.clock.Open()
}
