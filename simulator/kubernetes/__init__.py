"""The simulated Kubernetes: API server, Helm's effects, AKS' own controllers."""
