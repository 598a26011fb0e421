//go:build tools

// Package tools pins Prometheus and its promtool as build dependencies, so that go.sum covers them.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
