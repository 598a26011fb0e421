"""The Grafana HTTP API of Azure Managed Grafana workspaces (majors 11, 12 and 13)."""
