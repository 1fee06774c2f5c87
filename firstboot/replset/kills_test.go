package replset

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// withoutVote is where the second node waits as long as the third is not ready for a vote, too.
const withoutVote = "decided: the node is a member without a vote"

// steps of a join at which something is killed, of the first node and of the second.
var steps = []struct {
	node int
	at   string
}{
	{0, "decided: found"}, {0, "remembered that it founds"}, {0, "done: found"}, {0, "decided: the node is primary"}, {0, "done: the node is primary"}, {0, "decided: is a member"},
	{1, "decided: join"}, {1, "done: join"}, {1, "decided: mongod is STARTUP2"}, {1, withoutVote}, {1, "decided: take a vote"}, {1, "done: take a vote"}, {1, "done: is a member"},
}

// What is killed at any step of the way is started anew, as PID 1 and the agent do, and the set is there in the end, once.
func TestKilledAtEachStep(t *testing.T) {
	for _, what := range []string{"agent", "mongod", "both"} {
		for _, c := range steps {
			t.Run(fmt.Sprintf("%s of node %d, %s", what, c.node+1, c.at), func(t *testing.T) {
				r := newRig(t, hosts(3)...)
				n := r.nodes[c.node]
				reached := make(chan struct{})
				n.halt = func(ctx context.Context, step string) {
					if strings.HasPrefix(step, c.at) {
						select {
						case <-reached:
						default:
							close(reached)
							<-ctx.Done() // it ends here
						}
					}
				}
				last := r.nodes[2]
				last.start()
				for _, n := range r.nodes[:2] {
					n.up()
				}
				if c.at != withoutVote {
					last.startAgent()
				}
				select {
				case <-reached:
				case <-time.After(90 * time.Second):
					t.Fatal("the step was not reached")
				}
				if c.at == withoutVote {
					last.startAgent()
				}
				if what != "agent" {
					n.kill()
				}
				n.stopAgent()
				if what != "agent" {
					n.start()
				}
				n.startAgent()
				r.until(2*time.Minute, r.gathered)
			})
		}
	}
}
