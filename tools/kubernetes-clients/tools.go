//go:build tools

package main

// Helm is a program of its own; it is named here so that go.mod and go.sum cover it.
import _ "helm.sh/helm/v3/cmd/helm"
