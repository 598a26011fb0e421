"""The query endpoint of an Azure Monitor workspace: the Prometheus HTTP API over GPU metrics."""
