package join

import (
	"fmt"
	"slices"
	"strings"

	"grove/internal/setconf"
	"grove/internal/spec"
)

// world is a model of nodes whose agents run Decide: mongods that replicate a configuration by heartbeats, elect a primary by a majority of the votes that they reach, and install a
// next configuration only where the one before is on a majority; agents that look at one half of the members after the other, and act on that later; machines that stop, start,
// lose their data disks, or with them what they remember, and networks that cut one off. It leaves out documents and their replication, users, and time.
type world struct {
	set     spec.ReplicaSet
	nodes   []machine
	founded int      // sets so far
	acked   []string // hosts in a configuration that was on a majority
	broken  string   // a rule of MongoDB's that an agent asked to break
	lax     func(*Mongod)
}

type machine struct {
	up, cut bool
	loading bool // mongod has not read its configuration yet
	disk    *disk
	primary bool
	synced  bool
	memory  Memory

	view  *View // half of a look
	act   *Act  // decided, not done
	noted bool  // of a founding: it is remembered
}

// disk is what a mongod keeps. It never changes.
type disk struct {
	set     int // the replica set's own id
	term    int
	config  *setconf.Config
	summary string
}

const port = 27017

func newWorld(n int) *world {
	w := &world{set: spec.ReplicaSet{Name: "rs0", Bootstrap: "all"}, nodes: make([]machine, n)}
	for i := range n {
		w.set.Members = append(w.set.Members, spec.Member{Host: fmt.Sprintf("db%d", i+1)})
	}
	return w
}

func (w *world) clone() *world {
	c := *w
	c.nodes = slices.Clone(w.nodes)
	c.acked = slices.Clone(w.acked)
	return &c
}

func (w *world) host(i int) string { return fmt.Sprintf("db%d:%d", i+1, port) }

func (w *world) index(host string) int {
	for i := range w.nodes {
		if w.host(i) == host {
			return i
		}
	}
	return -1
}

// reach says whether i hears j.
func (w *world) reach(i, j int) bool {
	return w.nodes[j].up && (i == j || !w.nodes[i].cut && !w.nodes[j].cut)
}

func newDisk(set, term int, c setconf.Config) *disk {
	var words []string
	for _, m := range c.Members() {
		words = append(words, fmt.Sprintf("%s.%d.%g", strings.TrimSuffix(m.Host, ":27017"), m.Votes, m.Priority))
	}
	return &disk{set, term, &c, fmt.Sprintf("%d/%d/%d/%s", set, term, c.Version(), strings.Join(words, ","))}
}

// newer is MongoDB's order of configurations: by term, then by version.
func newer(a, b *disk) bool {
	return a.term > b.term || a.term == b.term && a.config.Version() > b.config.Version()
}

// seen is j's mongod as i's agent sees it.
func (w *world) seen(i, j int) (m Mongod) {
	n := w.nodes[j]
	switch {
	case !w.reach(i, j):
		m.Silent = "cut off"
	case n.loading:
		m.Unproven = "starts"
	case n.disk == nil:
		m.Fresh = true
	default:
		m.Set, m.State = "rs0", "STARTUP2"
		if _, in := n.disk.config.Find(w.host(j)); !in {
			m.State = Removed
		} else if n.primary {
			m.State = Primary
		} else if n.synced {
			m.State = Secondary
		}
	}
	if w.lax != nil && i != j {
		w.lax(&m)
	}
	return m
}

// look1 looks at the node itself and the first half of the others, look2 at the rest, and decides.
func (w *world) look1(i int) {
	v := View{Want: w.set, Port: port, Self: w.set.Members[i].Host, Memory: w.nodes[i].memory, Local: w.seen(i, i), Peers: map[string]Mongod{}, Why: "none"}
	for j := range w.nodes[:(len(w.nodes)+1)/2] {
		if j != i {
			v.Peers[w.set.Members[j].Host] = w.seen(i, j)
		}
	}
	w.nodes[i].view = &v
}

func (w *world) look2(i int) {
	n := &w.nodes[i]
	v := *n.view
	v.Peers = map[string]Mongod{}
	for host, m := range n.view.Peers {
		v.Peers[host] = m
	}
	for j := (len(w.nodes) + 1) / 2; j < len(w.nodes); j++ {
		if j != i {
			v.Peers[w.set.Members[j].Host] = w.seen(i, j)
		}
	}
	for j := range w.nodes {
		if p := w.nodes[j]; w.reach(i, j) && p.primary && !p.loading && (v.Local.Set != "" || v.known() != "") {
			v.Primary, v.Config, v.States = w.host(j), p.disk.config, map[string]State{}
			for k := range w.nodes {
				if w.reach(j, k) {
					v.States[w.host(k)] = w.seen(j, k).State
				}
			}
			break
		}
	}
	act := Decide(v)
	n.view, n.noted = nil, false
	if n.act = &act; act.Kind != Found && act.Kind != Reconfigure {
		n.act = nil
	}
	if v.Local.Set != "" {
		n.memory = Memory{"rs0", w.host(i), n.memory.Joined || act.Kind == Settled}
	}
}

// do is the next step of what was decided.
func (w *world) do(i int) {
	n := &w.nodes[i]
	switch {
	case n.act.Kind == Found && !n.noted:
		n.memory, n.noted = Memory{Set: "rs0", Host: w.host(i)}, true
		return
	case n.act.Kind == Found && n.disk == nil && !n.loading:
		w.founded++
		n.disk, n.primary, n.synced = newDisk(w.founded, 1, n.act.Config), true, true
		w.acked = []string{w.host(i)}
	case n.act.Kind == Reconfigure:
		if n.disk == nil {
			n.memory = Memory{Set: "rs0", Host: w.host(i)} // as site.go does
		}
		for j := range w.nodes {
			if w.reach(i, j) && w.nodes[j].primary && !w.nodes[j].loading {
				w.install(j, n.act.Config)
				break
			}
		}
	}
	n.act, n.noted = nil, false
}

// install is a replSetReconfig at j: the next version, at most one vote more or less, the one before on a majority, and a majority of the new one's votes within reach.
func (w *world) install(j int, c setconf.Config) {
	old := w.nodes[j].disk
	if c.Version() != old.config.Version()+1 || !w.majority(j, *old.config, old) || !w.majority(j, c, nil) {
		return
	}
	for _, m := range old.config.Members() {
		if _, in := c.Find(m.Host); !in {
			w.broken = "an agent takes " + m.Host + " out"
		}
	}
	if moved := c.Voters() - old.config.Voters(); moved < -1 || moved > 1 || c.Voters() > setconf.MostVoters {
		w.broken = fmt.Sprintf("an agent changes %d votes at once, to %d", moved, c.Voters())
	}
	w.nodes[j].disk = newDisk(old.set, old.term, c)
	w.note(j)
}

// majority is of a configuration's votes, as j reaches them; with has, of those whose disk has exactly that.
func (w *world) majority(j int, c setconf.Config, has *disk) bool {
	votes := 0
	for _, m := range c.Members() {
		k := w.index(m.Host)
		if m.Votes == 0 || !w.reach(j, k) || w.nodes[k].loading {
			continue
		}
		if d := w.nodes[k].disk; has == nil || d != nil && d.summary == has.summary {
			votes++
		}
	}
	return votes*2 > c.Voters()
}

// note remembers who is a member once a configuration is on a majority.
func (w *world) note(j int) {
	d := w.nodes[j].disk
	if !w.majority(j, *d.config, d) {
		return
	}
	for _, m := range d.config.Members() {
		if !slices.Contains(w.acked, m.Host) {
			w.acked = append(w.acked, m.Host)
		}
	}
}

// beat is i's heartbeats: it takes a newer configuration from whom it reaches, or a first one that names it, and the data from a member that has them.
func (w *world) beat(i int) {
	n := &w.nodes[i]
	if n.loading {
		n.loading = false
		return
	}
	for j := range w.nodes {
		d := w.nodes[j].disk
		if j == i || !w.reach(i, j) || d == nil || w.nodes[j].loading {
			continue
		}
		_, named := d.config.Find(w.host(i))
		if n.disk == nil && named || n.disk != nil && n.disk.set == d.set && newer(d, n.disk) {
			n.disk = d
			if n.primary && d.term > n.disk.term {
				n.primary = false
			}
		}
		if n.disk != nil && n.disk.set == d.set && (w.nodes[j].synced || w.nodes[j].primary) {
			n.synced = true
		}
	}
	if n.primary && !w.majority(i, *n.disk.config, nil) {
		n.primary = false
	}
	for j := range w.nodes {
		if p := w.nodes[j]; p.primary && p.disk != nil && !p.loading && w.reach(i, j) {
			w.note(j)
		}
	}
}

// elect makes i primary if a majority of the votes has no newer configuration.
func (w *world) elect(i int) bool {
	n := &w.nodes[i]
	if n.disk == nil || !n.synced || n.primary || n.loading {
		return false
	}
	me, in := n.disk.config.Find(w.host(i))
	if !in || me.Priority == 0 {
		return false
	}
	votes, term := 0, n.disk.term
	for _, m := range n.disk.config.Members() {
		k := w.index(m.Host)
		d := w.nodes[k].disk
		if m.Votes == 0 || !w.reach(i, k) || w.nodes[k].loading || d == nil || d.set != n.disk.set || newer(d, n.disk) {
			continue
		}
		votes, term = votes+1, max(term, d.term)
	}
	if votes*2 <= n.disk.config.Voters() {
		return false
	}
	for k := range w.nodes {
		if w.reach(i, k) {
			w.nodes[k].primary = false
		}
	}
	n.primary, n.disk = true, newDisk(n.disk.set, term+1, *n.disk.config)
	w.note(i)
	return true
}

func (w *world) crash(i int) {
	n := &w.nodes[i]
	*n = machine{cut: n.cut, disk: n.disk, synced: n.synced, memory: n.memory}
}

func (w *world) start(i int) { w.nodes[i].up, w.nodes[i].loading = true, w.nodes[i].disk != nil }

// lose is of the data disk, with all of the state partition as well. Members that only a minority knows by now are no more acknowledged.
func (w *world) lose(i int, all bool) {
	n := &w.nodes[i]
	lost := n.disk
	n.disk, n.synced = nil, false
	if all {
		n.memory = Memory{}
	}
	if lost == nil {
		return
	}
	var best *disk
	for _, m := range w.nodes {
		if m.disk != nil && (best == nil || newer(m.disk, best)) {
			best = m.disk
		}
	}
	holds := 0
	if best != nil {
		for _, m := range best.config.Members() {
			if d := w.nodes[w.index(m.Host)].disk; m.Votes > 0 && d != nil && d.summary == best.summary {
				holds++
			}
		}
	}
	if best == nil || holds*2 <= best.config.Voters() {
		w.acked = nil
	}
}

// wrong is a broken promise, "" if all are kept.
func (w *world) wrong() string {
	sets := map[int]bool{}
	for _, n := range w.nodes {
		if n.disk != nil {
			sets[n.disk.set] = true
		}
	}
	if len(sets) > 1 {
		return "two sets"
	}
	for i, n := range w.nodes {
		if !n.primary || !w.majority(i, *n.disk.config, nil) {
			continue
		}
		for _, host := range w.acked {
			if _, in := n.disk.config.Find(host); !in {
				return host + ", a member that was acknowledged, is in the primary's configuration no more"
			}
		}
	}
	return w.broken
}

// key is the state as text.
func (w *world) key() string {
	var b strings.Builder
	for _, n := range w.nodes {
		fmt.Fprint(&b, n.up, n.cut, n.loading, n.primary, n.synced, n.noted, n.memory)
		if n.disk != nil {
			b.WriteString(n.disk.summary)
		}
		if n.view != nil {
			fmt.Fprint(&b, n.view.Memory, n.view.Local, n.view.Peers)
		}
		if n.act != nil {
			fmt.Fprint(&b, n.act.Text, n.act.Config.Version(), len(n.act.Config.Members()))
		}
		b.WriteByte('\n')
	}
	fmt.Fprint(&b, w.acked)
	return b.String()
}
