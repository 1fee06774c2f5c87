package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// differs are the fields of the status that two boots of one node do not share, with the reason.
var differs = map[string]string{
	"agent.pid": "given anew", "agent.rss": "of the moment", "agent.started": "a time", "mongod.pid": "given anew", "mongod.since": "a time", "mongod.ready_after_s": "a time",
	"state.free": "logs grow", "updated": "a time", "storage.since": "a time", "storage.ready_s": "a time", "storage.done": "of the boot", "storage.written": "of the boot",
	"logs.size": "grows", "space.free": "logs grow", "clock.offset": "measured", "clock.last": "a time", "clock.poor": "measured", "clock.guessed": "of the boot", "tuning.values.before": "what the kernel began with",
}

func cycled(ctx context.Context, b *bench) (string, error) {
	r, err := b.rig(ctx, raid10LVM, "db1", raid10LVM.disks)
	if err != nil {
		return "", err
	}
	defer r.close(ctx)
	figure, err := r.sameAgain(ctx)
	return figure, r.blame(err)
}

// sameAgain compares the status of the second boot with that of the third: the first one makes the disks.
func (r *rig) sameAgain(ctx context.Context) (string, error) {
	var pages []map[string]string
	for range 3 {
		if err := r.lab.Wait(ctx); err != nil {
			return "", err
		}
		if err := r.synced(ctx); err != nil {
			return "", err
		}
		fields, err := r.quiet(ctx)
		if err != nil {
			return "", err
		}
		pages = append(pages, fields)
		if len(pages) == 3 {
			break
		}
		if err := r.again(ctx); err != nil {
			return "", err
		}
	}
	second, third := pages[1], pages[2]
	var found []string
	for key := range second {
		if _, there := third[key]; !there {
			found = append(found, key+" is gone")
		}
	}
	for key, value := range third {
		if value != second[key] {
			found = append(found, fmt.Sprintf("%s was %q and is %q", key, second[key], value))
		}
	}
	slices.Sort(found)
	if len(found) > 0 {
		return "", fmt.Errorf("%d of %d fields differ:\n%s", len(found), len(third), strings.Join(found, "\n"))
	}
	return fmt.Sprintf("%d fields the same; left out are %d that are of a boot", len(third), len(differs)), nil
}

// quiet waits until the page has not changed for 5 s, but for what differs anyhow, and gives its fields by their paths.
func (r *rig) quiet(ctx context.Context) (map[string]string, error) {
	limit, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var last string
	since := time.Now()
	for {
		text, err := r.sh(ctx, "cat /run/grove/status.json")
		if err != nil {
			return nil, err
		}
		var page any
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			return nil, fmt.Errorf("status.json: %w: %s", err, text)
		}
		fields := map[string]string{}
		flatten(page, "", fields)
		if now := fmt.Sprint(fields); now != last {
			last, since = now, time.Now()
		} else if time.Since(since) > 5*time.Second && fields["phase"] == "serving" {
			return fields, nil
		}
		select {
		case <-time.After(time.Second):
		case <-limit.Done():
			return nil, fmt.Errorf("the page does not come to rest within 2 minutes: %s", text)
		}
	}
}

// flatten gives the leaves by their paths, without those that differ.
func flatten(v any, path string, into map[string]string) {
	if _, leave := differs[bare(path)]; leave {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if key == "after" && v["at_least"] == true && v["state"] == "same" {
				continue // the kernel's own, which it computes at each boot from the memory that is free then (fs.file-max)
			}
			flatten(value, strings.TrimPrefix(path+"."+key, "."), into)
		}
	case []any:
		for n, value := range v {
			flatten(value, fmt.Sprintf("%s[%d]", path, n), into)
		}
	default:
		into[path] = fmt.Sprint(v)
	}
}

// bare is a path without the numbers in lists.
func bare(path string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(path, "[") {
		if _, rest, found := strings.Cut(part, "]"); found && b.Len() > 0 {
			part = rest
		}
		b.WriteString(part)
	}
	return b.String()
}
