"""Crossover: what policies cost in the API server and at a webhook, measured on a cluster."""
