package agent

import "grove/firstboot/status"

// tongue is the agent as the parts know it that speak of one topic.
type tongue struct {
	agent *Agent
	topic string
}

// Say puts a line on the console.
func (t tongue) Say(format string, values ...any) { t.agent.say(t.topic, format, values...) }

// Page changes the status.
func (t tongue) Page(change func(*status.Status)) { t.agent.page.set(change) }

// Status is the page as it is.
func (t tongue) Status() status.Status { return t.agent.page.read() }

// Problem sets the sentence about one thing, "" takes it away.
func (t tongue) Problem(about, sentence string) (news bool) {
	return t.agent.page.problem(about, sentence)
}
