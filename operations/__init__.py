"""Deploy-time steps that no ARM resource offers, as an idempotent command line tool."""
