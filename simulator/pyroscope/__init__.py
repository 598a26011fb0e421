"""Pyroscope 1.15 as the agent and Grafana see it: stored profiles and their query API."""
