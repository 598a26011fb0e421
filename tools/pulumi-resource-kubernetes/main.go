// Command pulumi-resource-kubernetes is Pulumi's Kubernetes provider, built from its published module.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
)

//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var terraformMapping []byte

func main() {
	provider.Serve("kubernetes", "4.25.0", schema, terraformMapping)
}
