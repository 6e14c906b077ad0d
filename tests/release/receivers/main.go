// SPDX-License-Identifier: GPL-2.0-only

// Receivers of OTLP by those who made it: "receivers collector PORT" has the OpenTelemetry collector's, and prints what it receives as
// JSON, a line for each request. "receivers prometheus PORT" has Prometheus' own, and prints the last sample of each series that it
// stored. Both listen on 127.0.0.1, say "ready", and print on a line from stdin.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func onLine(print func()) {
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		print()
		fmt.Println("end")
	}
}

func collector(address string) {
	factory, ctx := otlpreceiver.NewFactory(), context.Background()
	cfg := factory.CreateDefaultConfig()
	protocols := map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": address}}}
	must(0, confmap.NewFromStringMap(protocols).Unmarshal(cfg))
	received := make(chan []byte, 1000)
	next := must(consumer.NewMetrics(func(_ context.Context, m pmetric.Metrics) error {
		text, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(m)
		received <- text
		return err
	}))
	receiver := must(factory.CreateMetrics(ctx, receivertest.NewNopSettings(factory.Type()), cfg, next))
	must(0, receiver.Start(ctx, componenttest.NewNopHost()))
	onLine(func() {
		for len(received) > 0 {
			fmt.Println(string(<-received))
		}
	})
}

type series struct {
	Labels           map[string]string
	Time             int64
	Value            float64
	Count, Sum, Zero float64
	Schema           int32
	Buckets          map[int32]float64
}

func last(of storageSeries) series {
	s := series{Labels: of.Labels().Map()}
	it := of.Iterator(nil)
	for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
		s.Time = it.AtT()
		if kind == chunkenc.ValFloat {
			_, s.Value = it.At()
			continue
		}
		_, h := it.AtFloatHistogram(nil)
		s.Count, s.Sum, s.Zero, s.Schema, s.Buckets = h.Count, h.Sum, h.ZeroCount, h.Schema, map[int32]float64{}
		for b := h.PositiveBucketIterator(); b.Next(); {
			if b.At().Count != 0 {
				s.Buckets[b.At().Index] = b.At().Count
			}
		}
	}
	must(0, it.Err())
	return s
}

type storageSeries interface {
	Labels() labels.Labels
	Iterator(chunkenc.Iterator) chunkenc.Iterator
}

func prometheusServer(address string) {
	folder := must(os.MkdirTemp("", "blklat-tsdb-"))
	defer os.RemoveAll(folder)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	db := must(tsdb.Open(folder, log, nil, tsdb.DefaultOptions(), nil))
	defer db.Close()
	settings := func() config.Config { return config.DefaultConfig }
	handler := remote.NewOTLPWriteHandler(log, prometheus.NewRegistry(), db, settings, remote.OTLPOptions{})
	go http.Serve(must(net.Listen("tcp", address)), handler)
	onLine(func() {
		q := must(db.Querier(math.MinInt64, math.MaxInt64))
		defer q.Close()
		set := q.Select(context.Background(), false, nil, labels.MustNewMatcher(labels.MatchEqual, "job", "blklat"))
		for set.Next() {
			fmt.Println(string(must(json.Marshal(last(set.At())))))
		}
		must(0, set.Err())
	})
}

func main() {
	address := "127.0.0.1:" + os.Args[2]
	if os.Args[1] == "collector" {
		collector(address)
	} else {
		prometheusServer(address)
	}
}
