package push

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/golang/snappy"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of prometheus.WriteRequest (the specification, "protocol"):
//
//	WriteRequest { repeated TimeSeries timeseries = 1 }
//	TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2 }
//	Label        { string name = 1; string value = 2 }
//	Sample       { double value = 1; int64 timestamp = 2 }   // ms since 1970
const (
	requestSeries = 1
	seriesLabels  = 1
	seriesSamples = 2
	labelName     = 1
	labelValue    = 2
	sampleValue   = 1
	sampleTime    = 2
)

// encode makes the body of a request, with one sample for each metric.
func encode(families []*dto.MetricFamily, labels map[string]string, now time.Time) (body []byte, samples int) {
	var request []byte
	for _, f := range families {
		for _, m := range f.GetMetric() {
			value, is := value(m)
			if !is {
				continue
			}
			samples++
			request = protowire.AppendTag(request, requestSeries, protowire.BytesType)
			request = protowire.AppendBytes(request, series(f.GetName(), m, labels, value, now.UnixMilli()))
		}
	}
	return snappy.Encode(nil, request), samples
}

func value(m *dto.Metric) (float64, bool) {
	switch {
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue(), true
	case m.GetGauge() != nil:
		return m.GetGauge().GetValue(), true
	case m.GetUntyped() != nil:
		return m.GetUntyped().GetValue(), true
	}
	return 0, false
}

// series has its labels sorted by name, as the specification wants it; a metric's own wins over one of all.
func series(name string, m *dto.Metric, labels map[string]string, value float64, at int64) (b []byte) {
	all := map[string]string{}
	maps.Copy(all, labels)
	for _, l := range m.GetLabel() {
		all[l.GetName()] = l.GetValue()
	}
	all["__name__"] = name
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if all[key] == "" {
			continue // the same as none, and not allowed
		}
		var label []byte
		label = appendText(label, labelName, key)
		label = appendText(label, labelValue, all[key])
		b = protowire.AppendTag(b, seriesLabels, protowire.BytesType)
		b = protowire.AppendBytes(b, label)
	}
	var sample []byte
	sample = protowire.AppendTag(sample, sampleValue, protowire.Fixed64Type)
	sample = protowire.AppendFixed64(sample, math.Float64bits(value))
	sample = protowire.AppendTag(sample, sampleTime, protowire.VarintType)
	sample = protowire.AppendVarint(sample, uint64(at))
	b = protowire.AppendTag(b, seriesSamples, protowire.BytesType)
	return protowire.AppendBytes(b, sample)
}

func appendText(b []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), text)
}
