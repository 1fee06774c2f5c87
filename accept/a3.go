package main

// a3: a node that runs by itself: network, time, tuning, supervision, access.
func a3() []check {
	var list []check
	list = append(list, a3Network()...)
	list = append(list, a3Tuning()...)
	list = append(list, a3Logs()...)
	list = append(list, a3Again()...)
	list = append(list, a3Browse()...)
	list = append(list, a3Full()...)
	list = append(list, a3Access()...)
	list = append(list, a3Page()...)
	list = append(list, a3Push()...)
	list = append(list, a3Idle()...)
	return list
}
