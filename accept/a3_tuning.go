package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
)

// a3Tuning: what a node sets of its kernel and of mongod, and what mongod says of it.
func a3Tuning() []check {
	const says = ": every value read back from the running node is the plan's, and mongod reports no start-up warning but those explained"
	return []check{
		{name: "a3.1.mongodb", says: "profile mongodb" + says, within: 8 * time.Minute, beside: true, run: tuned("mongodb", advised, `XFS filesystem is strongly|Access control is not enabled`)},
		{name: "a3.1.classic-2015", says: "profile classic-2015, the numbers of S1 and S3" + says, within: 8 * time.Minute, beside: true,
			run: tuned("classic-2015", articles, `XFS filesystem is strongly|Access control is not enabled|vm\.max_map_count is too low`)},
		{name: "a3.1.gone", says: "a kernel setting that is gone is refused at build, with the reason", within: time.Minute, beside: true, run: goneSetting},
		{name: "a3.1.options", says: "mongod's settings as grove check knows them are those of mongod 6.0.5 itself, both ways", within: 6 * time.Minute, beside: true, run: optionsOfMongod},
	}
}

// reading is what a file of the node holds, or a line of it.
type reading struct{ file, holds string }

const hugepages, sys, pidLimits = "/sys/kernel/mm/transparent_hugepage/", "/proc/sys/", "/proc/$(pidof mongod)/limits"

// advised is MongoDB's manual for 6.0, and articles the two of 2013 and 2015. The data is an array of four virtual disks with volumes on it.
var (
	advised = append([]reading{
		{hugepages + "enabled", `\[never\]`}, {hugepages + "defrag", `\[never\]`}, {sys + "vm/overcommit_memory", `^0$`}, {sys + "vm/swappiness", `^1$`}, {sys + "vm/max_map_count", `^131060$`},
		{sys + "net/ipv4/tcp_keepalive_time", `^120$`}, {sys + "net/ipv4/tcp_retries2", `^5$`}, {sys + "kernel/pid_max", `^(64000|[1-9]\d{5,})$`}, {sys + "kernel/threads-max", `^(64000|[1-9]\d{5,})$`},
		{sys + "fs/file-max", `^(98000|[1-9]\d{5,})$`}, {pidLimits, `Max open files +64000 +64000 `}, {pidLimits, `Max processes +64000 +64000 `}, {pidLimits, `Max locked memory +unlimited +unlimited `},
	}, queues("read_ahead_kb", `^16$`, "vdb", "vdc", "vdd", "vde", "md127", "dm-0", "dm-1", "dm-2")...)
	articles = append([]reading{
		{hugepages + "enabled", `\[never\]`}, {hugepages + "defrag", `\[never\]`}, {sys + "net/ipv4/tcp_keepalive_time", `^300$`}, {sys + "net/ipv4/ip_local_port_range", `^10000\s65535$`},
		{sys + "net/ipv4/tcp_fin_timeout", `^10$`}, {sys + "net/ipv4/tcp_syncookies", `^0$`}, {pidLimits, `Max open files +65536 +65536 `}, {pidLimits, `Max processes +65536 +65536 `},
	}, queues("read_ahead_kb", `^64$`, "vdb", "vdc", "vdd", "vde", "md127")...)
)

func queues(file, holds string, devices ...string) (all []reading) {
	for _, d := range devices {
		all = append(all, reading{"/sys/block/" + d + "/queue/" + file, holds})
	}
	return all
}

// tuning is what the node's own plan says.
type tuning struct {
	Profile  string        `json:"profile"`
	Values   []tunedValue  `json:"values"`
	Warnings []toldWarning `json:"warnings"`
}

type tunedValue struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Want  string `json:"want"`
	After string `json:"after"`
	State string `json:"state"`
}

type toldWarning struct {
	Text        string `json:"text"`
	Kind        string `json:"kind"`
	Explanation string `json:"explanation"`
}

func tuned(profile string, wanted []reading, explained string) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		l := raid10LVM
		l.name, l.yaml = "tuned-"+profile, l.yaml+"tuning: {profile: "+profile+"}\n"
		r, err := b.rig(ctx, l, "db1", l.disks)
		if err != nil {
			return "", err
		}
		defer r.close(ctx)
		figure, err := r.tuned(ctx, profile, wanted, explained)
		return figure, r.blame(err)
	}
}

func (r *rig) tuned(ctx context.Context, profile string, wanted []reading, explained string) (string, error) {
	if err := r.lab.Wait(ctx); err != nil {
		return "", err
	}
	t, err := r.warned(ctx)
	if err != nil {
		return "", err
	}
	if t.Profile != profile {
		return "", fmt.Errorf("the node has profile %s", t.Profile)
	}
	if err := r.holdsAll(ctx, wanted); err != nil {
		return "", err
	}
	counts, err := r.asPlanned(ctx, t)
	if err != nil {
		return "", err
	}
	warnings, err := r.onlyExplained(ctx, t, explained)
	if err != nil {
		return "", err
	}
	s, err := r.status(ctx)
	if err == nil && (s.Phase != "serving" || len(s.Problems) > 0) {
		err = fmt.Errorf("status: %+v; want it serving without a problem", s)
	}
	return counts + "; mongod warns of: " + warnings, err
}

// warned waits until mongod's warnings stand on the page, which is soon after it answers: the demo's data lies on ext4, of which every server since 3.2 warns.
func (r *rig) warned(ctx context.Context) (t tuning, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("no warning on the page within a minute"))
	defer cancel()
	for {
		text, err := r.sh(ctx, "/init tuning --json")
		if err != nil {
			return t, err
		}
		if err := json.Unmarshal([]byte(text), &t); err != nil {
			return t, fmt.Errorf("/init tuning --json: %w: %s", err, text)
		}
		if len(t.Warnings) > 0 {
			return t, nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return t, context.Cause(ctx)
		}
	}
}

// holdsAll reads the files and compares them with what is written here.
func (r *rig) holdsAll(ctx context.Context, wanted []reading) error {
	var wrong []string
	contents := map[string]string{}
	for _, w := range wanted {
		if _, known := contents[w.file]; !known {
			text, err := r.sh(ctx, "cat "+w.file)
			if err != nil {
				return err
			}
			contents[w.file] = text
		}
		if !regexp.MustCompile(`(?m)` + w.holds).MatchString(contents[w.file]) {
			wrong = append(wrong, fmt.Sprintf("%s: want %s, have %s", w.file, w.holds, contents[w.file]))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}

// asPlanned is an error unless every value that the plan wants is there, or is said to be absent and is not there.
func (r *rig) asPlanned(ctx context.Context, t tuning) (string, error) {
	count := map[string]int{}
	for _, v := range t.Values {
		count[v.State]++
		switch {
		case v.State == "same":
		case v.State != "absent":
			return "", fmt.Errorf("%s: want %s, have %s: %s", v.Name, v.Want, v.After, v.State)
		default:
			if _, err := r.sh(ctx, "test ! -e "+v.Path); err != nil {
				return "", fmt.Errorf("%s is said to be absent: %w", v.Name, err)
			}
		}
	}
	if count["same"] < 10 {
		return "", fmt.Errorf("only %d values: %+v", count["same"], t.Values)
	}
	gone := slices.IndexFunc(t.Values, func(v tunedValue) bool { return strings.HasSuffix(v.Name, "tcp_tw_recycle") })
	if t.Profile == "classic-2015" && (gone < 0 || t.Values[gone].State != "absent") {
		return "", errors.New("tcp_tw_recycle is not said to be absent")
	}
	return fmt.Sprintf("%d values as planned, %d absent", count["same"], count["absent"]), nil
}

// onlyExplained asks mongod itself, from outside, and the node's page.
func (r *rig) onlyExplained(ctx context.Context, t tuning, explained string) (string, error) {
	told, err := startupWarnings(ctx, r.forward())
	if err != nil {
		return "", err
	}
	var all []string
	for _, text := range told {
		if !regexp.MustCompile(explained).MatchString(text) {
			return "", fmt.Errorf("mongod warns: %s", text)
		}
		all = append(all, fmt.Sprintf("%.40q...", text))
	}
	for _, w := range t.Warnings {
		if w.Kind != "explained" || w.Explanation == "" || !slices.ContainsFunc(told, func(text string) bool { return strings.HasPrefix(w.Text, text) }) {
			return "", fmt.Errorf("the page has %+v; mongod told %q", w, told)
		}
	}
	if len(told) != len(t.Warnings) {
		return "", fmt.Errorf("mongod told %q, the page has %+v", told, t.Warnings)
	}
	return strings.Join(all, ", "), nil
}

// startupWarnings are mongod's own messages.
func startupWarnings(ctx context.Context, address string) (all []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	client, err := mongo.Connect(ctx, options.Client().SetHosts([]string{address}).SetDirect(true))
	if err != nil {
		return nil, err
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	var told struct{ Log []string }
	if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "getLog", Value: "startupWarnings"}}).Decode(&told); err != nil {
		return nil, err
	}
	for _, line := range told.Log {
		var doc struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			return nil, fmt.Errorf("%w: %s", err, line)
		}
		all = append(all, doc.Msg)
	}
	return all, nil
}

func goneSetting(ctx context.Context, b *bench) (string, error) {
	file, err := b.recipe("\nboard: ", "\ntuning: {sysctl: {net.ipv4.tcp_tw_recycle: \"1\"}}\nboard: ")
	if err != nil {
		return "", err
	}
	r := b.run(ctx, nil, "check", file)
	return lastLine(strings.SplitN(r.out, "\n", 2)[0]), r.wants(3, "solo.yaml:3:", "tuning.sysctl.net.ipv4.tcp_tw_recycle: is gone since Linux 4.12")
}
