"""Mutations: the values of mutation expressions made into changed objects."""
