"""A real Kubernetes API server behind a simulated AKS cluster, and what AKS would do around it."""
