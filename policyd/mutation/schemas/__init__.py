"""Schemas of Kubernetes kinds, built in and from CustomResourceDefinitions."""
