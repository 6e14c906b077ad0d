// SPDX-License-Identifier: GPL-2.0-only
module receivers

go 1.26.7

require (
	github.com/prometheus/prometheus v0.316.0
	go.opentelemetry.io/collector/receiver/otlpreceiver v0.165.0
)
